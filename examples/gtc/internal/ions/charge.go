package ions

import "github.com/intrahpc/intra/examples/gtc/internal/grid"

// Charge adds the weights of the ions lo to hi-1 to the points of the grid around them.
// Each task uses its own field, since ions of different tasks contribute to the same
// points. The sum of the field is four times that of the weights.
//
//intra:task in(g, lo, hi, z.Now.Psi[lo:hi], z.Now.Theta[lo:hi], z.Now.Zeta[lo:hi], z.Now.Weight[lo:hi], z.Mu[lo:hi]) out(density)
func (z *Ions) Charge(g *grid.Grid, lo, hi int, density []float64) {
	clear(density)
	l := newLocator(g)
	stride := g.Planes + 1
	psi, theta, zeta := z.Now.Psi[lo:hi], z.Now.Theta[lo:hi], z.Now.Zeta[lo:hi]
	weight, mu := z.Now.Weight[lo:hi], z.Mu[lo:hi]
	var where [block]corners
	for len(psi) > 0 {
		n := min(block, len(psi))
		for i := range n {
			l.locate(&where[i], psi[i], theta[i], zeta[i], mu[i])
		}
		for i := range n {
			k, up := l.plane(zeta[i])
			wUp := float64(weight[i] * up)
			wDown := weight[i] - wUp
			c := &where[i]
			for j, p := range c.at {
				d := (*[2]float64)(density[int(p)*stride+k:])
				d[0] += float64(wDown * c.here[j])
				d[1] += float64(wUp * c.here[j])
				d = (*[2]float64)(density[(int(p)+1)*stride+k:])
				d[0] += float64(wDown * c.next[j])
				d[1] += float64(wUp * c.next[j])
			}
		}
		psi, theta, zeta, weight, mu = psi[n:], theta[n:], zeta[n:], weight[n:], mu[n:]
	}
}
