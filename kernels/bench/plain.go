package bench

import "github.com/intrahpc/intra/kernels"

// These are the loops that a Go program would contain without the kernels.

func plainWaxpby[T kernels.Float](v *vectorSet[T]) {
	alpha, x, beta, y, w := v.alpha, v.x, v.beta, v.y, v.w
	for i := range w {
		w[i] = T(alpha*x[i]) + T(beta*y[i])
	}
}

func plainXpby[T kernels.Float](v *vectorSet[T]) {
	x, beta, y, w := v.x, v.beta, v.y, v.w
	for i := range w {
		w[i] = x[i] + T(beta*y[i])
	}
}

func plainAxpy[T kernels.Float](v *vectorSet[T]) {
	alpha, x, w := v.alpha, v.x, v.w
	for i := range w {
		w[i] += T(alpha * x[i])
	}
}

func plainWaxpbyDot[T kernels.Float](v *vectorSet[T]) {
	plainWaxpby(v)
	var sum T
	for _, e := range v.w {
		sum += T(e * e)
	}
	v.sink += sum
}

func plainScale[T kernels.Float](v *vectorSet[T]) {
	alpha, x, w := v.alpha, v.x, v.w
	for i := range w {
		w[i] = T(alpha * x[i])
	}
}

func plainCopy[T kernels.Float](v *vectorSet[T]) { copy(v.w, v.x) }

func plainDot[T kernels.Float](v *vectorSet[T]) {
	x, y := v.x, v.y
	var sum T
	for i := range x {
		sum += T(x[i] * y[i])
	}
	v.sink += sum
}

func plainSum[T kernels.Float](v *vectorSet[T]) {
	var sum T
	for _, e := range v.x {
		sum += e
	}
	v.sink += sum
}

// plainCSR is the product of compressed sparse rows.
func plainCSR(ptr []int64, col []int32, val, x, y []float64) {
	for i := range y {
		var sum float64
		for k := ptr[i]; k < ptr[i+1]; k++ {
			sum += float64(val[k] * x[col[k]])
		}
		y[i] = sum
	}
}

// plainSymGS solves (D+L)·D⁻¹·(D+U)·y = y in place, with compressed sparse rows of
// ascending columns.
func plainSymGS(ptr []int64, col []int32, val, y []float64) {
	for i := range y {
		sum, k := y[i], ptr[i]
		for ; int(col[k]) < i; k++ {
			sum -= float64(val[k] * y[col[k]])
		}
		y[i] = sum / val[k]
	}
	for i := len(y) - 1; i >= 0; i-- {
		sum, k := 0.0, ptr[i+1]-1
		for ; int(col[k]) > i; k-- {
			sum += float64(val[k] * y[col[k]])
		}
		y[i] -= sum / val[k]
	}
}
