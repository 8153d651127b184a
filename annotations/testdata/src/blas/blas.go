// Package blas has the shape of gonum's blas64, mat and floats: values that hold
// slices, an implementation behind an interface, and functions in assembly.
package blas // want package:"effects"

// Vector is a slice with an increment.
type Vector struct {
	N, Inc int
	Data   []float64
}

// Float64 is the interface of an implementation.
type Float64 interface {
	Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int)
}

type pure struct{}

func (pure) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	for i := range n {
		y[i*incY] += alpha * x[i*incX]
	}
}

var implementation Float64 = pure{}

// Use sets the implementation.
func Use(f Float64) { implementation = f }

// Axpy calls the implementation.
func Axpy(alpha float64, x, y Vector) {
	implementation.Daxpy(x.N, alpha, x.Data, x.Inc, y.Data, y.Inc)
}

// Gemv clears y first if beta is zero.
func Gemv(alpha float64, a, x Vector, beta float64, y Vector) {
	if beta == 0 {
		for i := range y.Data {
			y.Data[i] = 0
		}
	} else {
		for i := range y.Data {
			y.Data[i] *= beta
		}
	}
	n := len(y.Data)
	for i := range y.Data {
		s := 0.0
		for j := range x.Data {
			s += a.Data[i*n+j] * x.Data[j]
		}
		y.Data[i] += alpha * s
	}
}

// VecDense is a vector that is used through a pointer.
type VecDense struct{ mat Vector }

// NewVecDense returns a vector with the elements data.
func NewVecDense(n int, data []float64) *VecDense {
	if len(data) != n && data != nil {
		panic("length")
	}
	if data == nil {
		data = make([]float64, n)
	}
	return &VecDense{mat: Vector{N: n, Inc: 1, Data: data}}
}

// SetVec sets an element.
func (v *VecDense) SetVec(i int, x float64) { v.mat.Data[i*v.mat.Inc] = x }

// AtVec returns an element.
func (v *VecDense) AtVec(i int) float64 { return v.mat.Data[i*v.mat.Inc] }

// RawVector returns the underlying slice.
func (v *VecDense) RawVector() Vector { return v.mat }

// SetRawVector replaces the underlying slice.
func (v *VecDense) SetRawVector(r Vector) { v.mat = r }

// AddConst adds c to all elements.
func AddConst(c float64, dst []float64) {
	for i := range dst {
		dst[i] += c
	}
}

// Dot is implemented in assembly.
func Dot(x, y []float64) float64

// Scale is implemented in assembly.
func Scale(a float64, y []float64)
