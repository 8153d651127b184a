package flow

// findSide computes planes of the right-hand side, the first of which is lo, from u, whose
// first plane is base. The right-hand side is the change of the flow in a time step. Points
// on the faces of the cube do not change.
//
//intra:task in(g, u, forcing, base, lo) out(r)
func findSide(g Gas, u, forcing []State, base, lo int, r []State) {
	n, plane := g.N, g.N*g.N
	var m [5][]motion
	for i := range m {
		m[i] = make([]motion, n)
	}
	south, here, north, below, above := m[0], m[1], m[2], m[3], m[4]
	for first := 0; first < len(r); first, lo = first+plane, lo+1 {
		if lo == 0 || lo == n-1 {
			continue
		}
		row := func(y, z int) []State { return u[(z-base)*plane+y*n:][:n] }
		move(row(0, lo), south)
		move(row(1, lo), here)
		for y := 1; y < n-1; y++ {
			move(row(y+1, lo), north)
			move(row(y, lo-1), below)
			move(row(y, lo+1), above)
			x, to := row(y, lo), r[first+y*n:][1:n-1]
			copy(to, forcing[first+y*n:][1:n-1])
			g.stream(0, to, x, x[1:], x[2:], here, here[1:], here[2:])
			g.stream(1, to, row(y-1, lo)[1:], x[1:], row(y+1, lo)[1:], south[1:], here[1:], north[1:])
			g.stream(2, to, row(y, lo-1)[1:], x[1:], row(y, lo+1)[1:], below[1:], here[1:], above[1:])
			dampAlong(to, x)
			dampAcross(to, y, n, func(y int) []State { return row(y, lo)[1:] })
			dampAcross(to, lo, n, func(z int) []State { return row(y, z)[1:] })
			for i := range to {
				for m := range to[i] {
					to[i][m] *= g.Dt
				}
			}
			south, here, north = here, north, south
		}
	}
}

// stream adds the flow along an axis to a row of points. It computes the flow from the
// states and motions of the points and of their neighbours before and after them.
func (g Gas) stream(axis int, r, before, u, after []State, mb, m, ma []motion) {
	n := len(r)
	before, u, after, mb, m, ma = before[:n], u[:n], after[:n], mb[:n], m[:n], ma[:n]
	first, second, spread := g.First, g.Second, Spread(axis)*g.Second
	viscous, turned, own := Viscous*second, (FourThirds-1)*Viscous*second, Viscous/6*second
	for i := range r {
		to, a, b, c, p, q, s := &r[i], &before[i], &u[i], &after[i], &mb[i], &m[i], &ma[i]
		vp, vq, vs := p.velocity[axis], q.velocity[axis], s.velocity[axis]
		// The weights of the point and its neighbours, which include spread and flow.
		wa, wb, wc := spread+first*vp, 2*spread, spread-first*vs
		to[0] += spread*(c[0]+a[0]) - wb*b[0] - first*(c[axis+1]-a[axis+1])
		to[1] += wc*c[1] + wa*a[1] - wb*b[1] + viscous*(s.velocity[0]-2*q.velocity[0]+p.velocity[0])
		to[2] += wc*c[2] + wa*a[2] - wb*b[2] + viscous*(s.velocity[1]-2*q.velocity[1]+p.velocity[1])
		to[3] += wc*c[3] + wa*a[3] - wb*b[3] + viscous*(s.velocity[2]-2*q.velocity[2]+p.velocity[2])
		to[4] += (spread-first*C1*vs)*c[4] + (spread+first*C1*vp)*a[4] - wb*b[4] + first*C2*(s.kinetic*vs-p.kinetic*vp) +
			second*(s.spread-2*q.spread+p.spread) + own*(vs*vs-2*vq*vq+vp*vp)
		to[axis+1] += turned*(vs-2*vq+vp) - first*C2*((c[4]-s.kinetic)-(a[4]-p.kinetic))
	}
}

// Damping returns the weights of a point and its neighbours, two on each side, in the
// damping at position at of n.
func Damping(at, n int) [5]float64 {
	w := fourth(at, n)
	for k := range w {
		w[k] *= damping
	}
	return w
}

// fourth returns the weights of the fourth difference. Next to a face it omits points
// beyond the face.
func fourth(at, n int) [5]float64 {
	switch at {
	case 1:
		return [5]float64{0, 0, 5, -4, 1}
	case 2:
		return [5]float64{0, -4, 6, -4, 1}
	case n - 3:
		return [5]float64{1, -4, 6, -4, 0}
	case n - 2:
		return [5]float64{1, -4, 5, 0, 0}
	}
	return [5]float64{1, -4, 6, -4, 1}
}

// dampAcross subtracts fourth differences along y or z, at position at of n. row returns
// the points at any position.
func dampAcross(r []State, at, n int, row func(at int) []State) {
	var rows [5][]State
	for k := range rows {
		rows[k] = row(min(max(at+k-2, 0), n-1))
	}
	damp(r, rows, Damping(at, n))
}

// dampAlong subtracts fourth differences along x for a whole row.
func dampAlong(r, x []State) {
	n := len(x)
	at := func(from, to int) {
		var rows [5][]State
		for k := range rows {
			rows[k] = x[min(max(from+k-2, 0), n-1):]
		}
		damp(r[from-1:to-1], rows, Damping(from, n))
	}
	at(1, 2)
	at(2, 3)
	at(3, n-3)
	at(n-3, n-2)
	at(n-2, n-1)
}

func damp(r []State, rows [5][]State, weights [5]float64) {
	n := len(r)
	a, b, c, d, e := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n], rows[4][:n]
	wa, wb, wc, wd, we := weights[0], weights[1], weights[2], weights[3], weights[4]
	for i := range r {
		to, a, b, c, d, e := &r[i], &a[i], &b[i], &c[i], &d[i], &e[i]
		to[0] -= wa*a[0] + wb*b[0] + wc*c[0] + wd*d[0] + we*e[0]
		to[1] -= wa*a[1] + wb*b[1] + wc*c[1] + wd*d[1] + we*e[1]
		to[2] -= wa*a[2] + wb*b[2] + wc*c[2] + wd*d[2] + we*e[2]
		to[3] -= wa*a[3] + wb*b[3] + wc*c[3] + wd*d[3] + we*e[3]
		to[4] -= wa*a[4] + wb*b[4] + wc*c[4] + wd*d[4] + we*e[4]
	}
}

// add adds the change of a time step to points.
//
//intra:task in(r) inout(u) elementwise(r, u)
func add(r, u []State) {
	r = r[:len(u)]
	for i := range u {
		to, by := &u[i], &r[i]
		to[0] += by[0]
		to[1] += by[1]
		to[2] += by[2]
		to[3] += by[3]
		to[4] += by[4]
	}
}

// square returns the sums of the squares of points.
//
//intra:task in(r) reduce(+: sums)
func square(r []State, sums *State) {
	var s State
	for i := range r {
		for m, v := range r[i] {
			s[m] += v * v
		}
	}
	for m, v := range s {
		sums[m] += v
	}
}
