package uncertain // want package:"effects"

//intra:task // want `f of kernel value is in no clause; by its body the kernel needs in\(f, n\)$` `y of kernel value is in no clause; the analysis could not look into the function value f at uncertain.go:5: name it in in, out, inout, reduce or scratch$` `n of kernel value is in no clause`
func value(f func([]float64), y []float64, n int) {
	f(y[:n])
}

func through(f func([]float64), y []float64) { f(y) }

//intra:task in(f) // want `y of kernel chain is in no clause; the analysis could not look into the function value f at uncertain.go:8: name it in`
func chain(f func([]float64), y []float64) {
	through(f, y)
}

//intra:task in(dirty) // want `x of kernel maybe is in no clause; the analysis cannot tell whether the kernel writes it at uncertain.go:21: name it in` `y of kernel maybe is in no clause; the analysis cannot tell whether the kernel writes it at uncertain.go:21: name it in`
func maybe(x, y []float64, dirty bool) {
	b := x
	if dirty {
		b = y
	}
	b[0] = 1
}

//intra:task in(f) // want `y of kernel written is in no clause; by its body the kernel needs inout\(y\)$`
func written(f func([]float64), y []float64) {
	y[0] = 1
	f(y)
}

//intra:task // want `y of kernel other is in no clause; by its body the kernel needs out\(z\) inout\(y\)$` `z of kernel other is in no clause`
func other(y, z []float64) {
	y[0] = 1
	z[0] = y[1]
}

//intra:task // want `y of kernel same is in no clause; by its body the kernel needs out\(y, z\)$` `z of kernel same is in no clause`
func same(y, z []float64) {
	for i := range y {
		y[i] = 1
		z[i] = y[i]
	}
}

type view struct {
	a, b []float64
	f    func([]float64)
}

//intra:task // want `v of kernel part is in no clause; the analysis could not look into the function value f at uncertain.go:52: name it in`
func part(v *view) {
	v.a[0] = 1
	v.f(v.b)
}

//intra:task // want `n of kernel assembly is in no clause; by its body the kernel needs in\(n\)$` `y of kernel assembly is in no clause; the analysis could not look into assembly, whose body is not Go: name it in`
func assembly(n int, y []float64)
