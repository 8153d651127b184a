// Package mesh has state that types of other packages hold.
package mesh

//go:generate go tool intragen

// Mesh is a mesh that moves.
//
//intra:state skip(volume)
type Mesh struct {
	X, Y   []float64
	volume func(i int) float64
}

// New returns a mesh of n points.
func New(n int) *Mesh {
	m := &Mesh{X: make([]float64, n), Y: make([]float64, n)}
	m.volume = func(i int) float64 { return m.X[i] * m.Y[i] }
	return m
}
