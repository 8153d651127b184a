package kernels

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/testdata/errors/helper"
)

//intra:task in(x, w)
func writesIn(x, w []float64) {
	for i := range w {
		w[i] = x[i]
	}
}

//intra:task in(a, v)
func scalesIn(a float64, v []float64) {
	for i := range v {
		v[i] *= a
	}
}

//intra:task in(a) out(v)
func readsOut(a float64, v []float64) {
	for i := range v {
		v[i] = v[i] * a
	}
}

//intra:task in(a) out(y)
func accumulates(a [][]float64, y []float64) {
	for i, row := range a {
		for _, v := range row {
			y[i] += v
		}
	}
}

//intra:task out(u)
func ahead(u []float64) {
	for i := 0; i < len(u)-1; i++ {
		u[i] = u[i+1]
	}
}

//intra:task out(u)
func repeated(u []float64) {
	for range 3 {
		for i := range u {
			u[i] *= 2
		}
	}
}

//intra:task inout(u)
func fine(u []float64) {
	copy(u[1:], u)
}

//intra:task out(u)
func shift(u []float64) {
	copy(u[1:], u)
}

var counter atomic.Int64

//intra:task in(x)
func atomically(x []float64) {
	counter.Add(int64(len(x)))
}

//intra:task in(a, x) out(y)
func helperReads(a float64, x, y []float64) {
	helper.Axpy(a, x, y)
}

//intra:task in(a, x, y)
func helperWrites(a float64, x, y []float64) {
	helper.Axpy(a, x, y)
}

//intra:task in(x) out(w)
func neverWrites(x, w []float64) float64Result { return float64Result{} }

type float64Result struct{ v float64 }

//intra:task in(x) out(w)
func idle(x, w []float64) {}

var total float64

//intra:task in(x)
func global(x []float64) {
	for _, v := range x {
		total += v
	}
}

//intra:task in(x)
func globalInHelper(x []float64) {
	helper.Count()
}

type node struct {
	v    float64
	next *node
	z    []float64
	n    int
}

//intra:task in(n)
func list(n *node) {
	n.next.v = 1
}

//intra:task in(n) out(n.z)
func header(n *node) {
	n.z = n.z[:1]
	n.z[0] = 1
}

//intra:task out(n.z)
func partly(n *node) {
	for i := range n.z {
		n.z[i] = float64(n.n)
	}
}

//intra:task in(n.z)
func uncovered(n *node) {
	n.n = len(n.z)
}

//intra:task out(n)
func pointers(n *node) { n.v = 1 }

//intra:task out(m)
func maps(m map[int]float64) { m[0] = 1 }

//intra:task out(s)
func texts(s []string) { s[0] = "" }

//intra:task out(t)
func times(t *time.Time) { *t = time.Time{} }

//intra:task out(x)
func anything[T any](x []T) { clear(x) }

//intra:task out(alpha)
func value(alpha float64) { alpha = 1 }

//intra:task in(x) reduce(max: s)
func lost(x []float64) (s float64) {
	fmt.Println(x)
	s = rand.Float64()
	t := time.Now()
	go func() {}()
	c := make(chan bool, 1)
	c <- true
	<-c
	_ = t
	_, _ = os.ReadFile("x")
	println(s)
	return
}

//intra:task in(m) reduce(+: s)
func order(m map[int]float64) (s float64) {
	for _, v := range m {
		s += v
	}
	return
}

//intra:task in(c, x)
func message(c *comm.Comm, x []float64) {
	helper.Exchange(c, x)
}

//intra:task in(x) out(y)
func clock(x, y []float64) {
	y[0] = float64(helper.Clock())
}

//intra:task in(p, x) out(y)
func whoAmI(p *intra.Process, x, y []float64) {
	y[0] = float64(p.Replica())
}

//intra:task in(x) out(y) scratch(tmp)
func dirty(x, y, tmp []float64) {
	y[0] = tmp[0]
}

//intra:task in(a) out(x)
func alias(a float64, x []float64) {
	b := x[1:]
	for i := range b {
		b[i] += a
	}
}

//intra:task in(x)
func sorts(x []float64) {
	slices.Sort(x)
}

//intra:task in(x)
func closure(x []float64) {
	f := func() { x[0] = 1 }
	f()
}

//intra:task in(x) out(y, x)
func both(x, y []float64) { y[0] = x[0] }

//intra:task in(x) inout(x)
func both2(x []float64) { x[0] = x[1] }

//intra:task in(x, x)
func twice(x []float64) {}

//intra:task in(n, n.z)
func part(n *node) {}

//intra:task in(X)
func typo(x []float64) {}

//intra:task in(total, x)
func pkgvar(x []float64) {}

//intra:task in(x) ouput(y)
func clauseTypo(x, y []float64) {}

//intra:task in(x), out(y)
func comma(x, y []float64) {}

//intra:task in(x[0])
func index(x []float64) {}

//intra:task in(x[lo;n])
func ompss(x []float64, lo, n int) {}

//intra:task in(hi) out(x[l0:hi])
func bound(x []float64, lo, hi int) {}

//intra:task in(a) out(x[a:])
func bound2(x []float64, a float64) {}

//intra:task in(n) out(x[f(n):])
func bound3(x []float64, n int) {}

//intra:task in(n) out(n.w)
func field(n *node) {}

//intra:task in(x) reduce(+: y)
func reduceParam(x []float64, y *float64) {}

//intra:task in(x) reduce(-: s)
func reduceMinus(x []float64) (s float64) { return }

//intra:task in(x) reduce(maxx: s)
func reduceTypo(x []float64) (s float64) { return }

//intra:task in(x) reduce(pick: s)
func reduceFunc(x []float64) (s float64) { return }

func pick(a, b int) int { return a }

//intra:task in(x, s)
func resultIn(x []float64) (s float64) { return }

//intra:task in(x)
func twoResults(x []float64) (a, b float64) { return }

//intra:task in(x)
func fails(x []float64) (err error) { return }

//intra:task in(x) reduce(+: m)
func reduceMap(x []float64, m map[int]int) {}

//intra:task in(x) reduce(+: y[1:])
func reducePart(x, y []float64) { y[1] += x[0] }

//intra:task in(x) reduce(&: y)
func reduceBits(x, y []float64) { y[0] += x[0] }

//intra:task in(x) reduce(+: y)
func reduceAgain(x, y []float64) {
	for i, v := range x {
		y[i] += v
	}
	for _, v := range x {
		y[int(v)] += v
	}
}

//intra:task in(x) reduce(+: y)
func reduceByHelper(x, y []float64) {
	for _, v := range x {
		addTo(y, v)
	}
}

func addTo(y []float64, v float64) { y[0] += v }

//intra:task in(x, n) reduce(+: y, z)
func reduceOnce(x, y, z []float64, n int) {
	for lo := 0; lo < len(x); lo += n {
		for i := lo; i < lo+n; i++ {
			y[i] += x[i]
		}
	}
	i := 0
	for ; i < n; i++ {
		z[i] += x[i]
	}
}

//intra:task in(x) reduce(+: sum)
func reduceScalar(x []float64, sum *float64) {
	for _, v := range x {
		*sum += v
	}
}

//intra:task in(x, n) out(y[0:1, 0:2])
func noWidth(x, y []float64, n int) { y[n] = x[0] }

//intra:task in(x) out(y, y[1:])
func wholeAndPart(x, y []float64) { y[0] = x[0] }

//intra:task in(x)
func resultAndError(x []float64) (s float64, err error) { return x[0], nil }

//intra:task in(x)
func forgot(x, y []float64) { y[0] = x[0] }

//intra:task in(x)
func noName(x []float64, _ int) {}

//intra:task in(x)
func collides(x []float64) {}

func launchCollides() {}

// intra:task in(x)
func near1(x []float64) {}

// intra:Task in(x)
func near2(x []float64) {}

//intra:tsk in(x)
func near3(x []float64) {}

//intra:task(in x)
func near4(x []float64) {}

//intra:task in(x)
type misplaced struct{}

func body() {
	//intra:task in(x)
}

//intra:task in(x) out(y) elementwise(x, z)
func elementwiseName(x, y []float64) { copy(y, x) }

//intra:task in(n, x) out(y) elementwise(n, x, y)
func elementwiseOther(n int, x, y []float64) { copy(y[:n], x) }

//intra:task in(x) out(y, v) elementwise(x, y)
func elementwiseBesides(x, y, v []float64) {
	copy(y, x)
	copy(v, x)
}

//intra:task in(x) reduce(+: sum) elementwise(x)
func elementwiseReduce(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

//intra:task in(x) out(y) elementwise(x, y) elementwise(y)
func elementwiseTwice(x, y []float64) { copy(y, x) }

//intra:task in(x) elementwise(x)
func elementwiseNothing(x []float64) {}

var origin = 1

func fromOrigin(lo int) int { return lo - origin }

//intra:task in(lo, x[fromOrigin(lo):]) out(y)
func windowOfGlobal(lo int, x, y []float64) { copy(y, x[fromOrigin(lo):]) }

func firstOf(ptr []int, lo int) int { return ptr[lo] }

//intra:task in(lo, x[firstOf(ptr, lo):]) inout(ptr) out(y)
func windowOfInOut(ptr []int, lo int, x, y []float64) {
	copy(y, x[ptr[lo]:])
	ptr[lo]++
}
