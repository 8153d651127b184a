package inout

import "math"

// particle is a charged particle, moved by Boris's scheme.
type particle struct{ x, y, z, u, v, w float64 }

// push moves each particle of from by one step and stores it in to. The two may be the same
// memory.
func push(from, to []particle, dt float64) {
	const b = 0.7 // magnetic field along z
	t := b * dt / 2
	s := 2 * t / (1 + float64(t*t))
	to = to[:len(from)]
	for i := range from {
		p := from[i]
		ex, ey := dt/2*math.Sin(p.x), dt/2*math.Sin(p.y) // half a kick in each direction
		p.u += ex
		p.v += ey
		u, v := p.u+float64(p.v*t), p.v-float64(p.u*t)
		p.u += float64(v * s)
		p.v -= float64(u * s)
		p.u += ex
		p.v += ey
		p.x += float64(p.u * dt)
		p.y += float64(p.v * dt)
		p.z += float64(p.w * dt)
		to[i] = p
	}
}

// start places n particles, always in the same way.
func start(n int) []particle {
	all := make([]particle, n)
	for i := range all {
		a := float64(i)
		all[i] = particle{math.Mod(a*0.618, 7), math.Mod(a*0.414, 7), math.Mod(a*0.732, 7), math.Sin(a), math.Cos(a), 0.1}
	}
	return all
}
