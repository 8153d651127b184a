package wrong // want package:"effects"

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"helper"
)

//intra:task in(x, w)
func writesIn(x, w []float64) {
	for i := range w {
		w[i] = x[i] // want `task writesIn writes w, but w is in in; want out\(w\)`
	}
}

//intra:task in(a, v)
func scalesIn(a float64, v []float64) {
	for i := range v {
		v[i] *= a // want `task scalesIn writes v, but v is in in; want inout\(v\)`
	}
}

//intra:task in(a) out(v)
func readsOut(a float64, v []float64) {
	for i := range v {
		v[i] = v[i] * a // want `task readsOut reads v before it is written, but v is in out; want inout\(v\)`
	}
}

//intra:task in(a) out(y)
func accumulates(a [][]float64, y []float64) {
	for i, row := range a {
		for _, v := range row {
			y[i] += v // want `task accumulates reads y before it is written`
		}
	}
}

//intra:task out(u)
func ahead(u []float64) {
	for i := 0; i < len(u)-1; i++ {
		u[i] = u[i+1] // want `task ahead reads u before it is written`
	}
}

//intra:task out(u)
func repeated(u []float64) {
	for range 3 {
		for i := range u {
			u[i] *= 2 // want `task repeated reads u before it is written`
		}
	}
}

//intra:task inout(u)
func fine(u []float64) {
	copy(u[1:], u)
}

//intra:task out(u)
func shift(u []float64) {
	copy(u[1:], u) // want `task shift reads u before it is written`
}

var counter atomic.Int64

//intra:task in(x)
func atomically(x []float64) {
	counter.Add(int64(len(x))) // want `task atomically writes the package variable counter`
}

//intra:task in(a, x) out(y)
func helperReads(a float64, x, y []float64) {
	helper.Axpy(a, x, y) // want `task helperReads reads y in Axpy at helper.go:\d+ before it is written, but y is in out; want inout\(y\)`
}

//intra:task in(a, x, y)
func helperWrites(a float64, x, y []float64) {
	helper.Axpy(a, x, y) // want `task helperWrites writes y in Axpy at helper.go:\d+, but y is in in; want inout\(y\)`
}

/* want `w is in out, but neverWrites never writes it; want in\(w\)` */ //intra:task in(x) out(w)
func neverWrites(x, w []float64) float64Result                          { return float64Result{} } // want `the result of kernel neverWrites has no name`

type float64Result struct{ v float64 }

//intra:task in(x) out(w) // want `w is in out, but idle never writes it; want in\(w\)`
func idle(x, w []float64) {}

var total float64

//intra:task in(x)
func global(x []float64) {
	for _, v := range x {
		total += v // want `task global writes the package variable total; the other replicas do not get it`
	}
}

//intra:task in(x)
func globalInHelper(x []float64) {
	helper.Count() // want `task globalInHelper writes the package variable helper.calls in Count at helper.go`
}

type node struct {
	v    float64
	next *node
	z    []float64
	n    int
}

//intra:task in(n)
func list(n *node) {
	n.next.v = 1 // want `task list writes n.next.v, but no clause but in\(n\) names it`
}

//intra:task in(n) out(n.z)
func header(n *node) {
	n.z = n.z[:1] // want `task header assigns n.z itself, but its clause names the elements only; work on a copy of the slice, as in v := n.z`
	n.z[0] = 1
}

//intra:task out(n.z)
func partly(n *node) {
	for i := range n.z {
		n.z[i] = float64(n.n) // want `task partly reads n.n, which no clause names; add in\(n.n\)`
	}
}

//intra:task in(n.z)
func uncovered(n *node) {
	n.n = len(n.z) // want `task uncovered writes n.n, which no clause names; add out\(n.n\)`
}

//intra:task out(n) // want `clause out: n cannot be sent to the other replicas: its field next has type \*node, which is a pointer; put n into in and name the fields that are written, as in out\(n.z\)`
func pointers(n *node) { n.v = 1 }

//intra:task out(m) // want `clause out: m cannot be sent to the other replicas: its type map\[int\]float64 holds pointers; use a slice`
func maps(m map[int]float64) { m[0] = 1 }

//intra:task out(s) // want `clause out: s cannot be sent to the other replicas: its type string holds a pointer \(use an array of bytes\)`
func texts(s []string) { s[0] = "" }

//intra:task out(t) // want `its type time.Time holds a pointer \(use UnixNano\)`
func times(t *time.Time) { *t = time.Time{} }

//intra:task out(x) // want `its type T is a type parameter whose constraint allows types with pointers`
func anything[T any](x []T) { clear(x) }

//intra:task out(alpha) // want `clause out: alpha is passed by value, so a write to it is lost; use a pointer, a slice or a named result`
func value(alpha float64) { alpha = 1 }

//intra:task in(x) reduce(max: s)
func lost(x []float64) (s float64) {
	fmt.Println(x)          // want `task lost calls fmt.Println, which does input or output`
	s = rand.Float64()      // want `task lost calls rand.Float64, the process-wide random source; make a generator in the task`
	t := time.Now()         // want `task lost calls time.Now, whose result differs between replicas`
	go func() {}()          // want `task lost starts a goroutine with go: start it with Go of a sync.WaitGroup, and call Wait before the task ends`
	c := make(chan bool, 1) // want `task lost makes a channel`
	c <- true               // want `task lost sends on a channel`
	<-c                     // want `task lost receives from a channel`
	_ = t
	_, _ = os.ReadFile("x") // want `task lost calls os.ReadFile, which does input or output`
	println(s)              // want `task lost calls println`
	return
}

//intra:task in(m) reduce(+: s)
func order(m map[int]float64) (s float64) {
	for _, v := range m { // want `task order ranges over a map, whose order differs between replicas; range over sorted keys`
		s += v
	}
	return
}

//intra:task in(c, x)
func message(c *comm.Comm, x []float64) {
	helper.Exchange(c, x) // want `task message calls comm.Send, which passes messages \(in Exchange at helper.go`
}

//intra:task in(x) out(y)
func clock(x, y []float64) {
	y[0] = float64(helper.Clock()) // want `task clock calls time.Now, whose result differs between replicas; pass the time as a parameter \(in Clock at helper.go:\d+, now at helper.go:\d+\)`
}

//intra:task in(p, x) out(y)
func whoAmI(p *intra.Process, x, y []float64) {
	y[0] = float64(p.Replica()) // want `task whoAmI calls intra.Process.Replica, so that its result would differ between replicas`
}

//intra:task in(x) out(y) scratch(tmp)
func dirty(x, y, tmp []float64) {
	y[0] = tmp[0] // want `task dirty reads tmp before it is written, but scratch memory means nothing on entry; want in or inout\(tmp\)`
}

//intra:task in(a) out(x)
func alias(a float64, x []float64) {
	b := x[1:]
	for i := range b {
		b[i] += a // want `task alias reads x before it is written, but x is in out; want inout\(x\)`
	}
}

//intra:task in(x)
func sorts(x []float64) {
	slices.Sort(x) // want `task sorts writes x, but x is in in; want inout\(x\)`
}

//intra:task in(x)
func closure(x []float64) {
	f := func() { x[0] = 1 }
	f() // want `task closure writes x, but x is in in; want out\(x\)`
}

//intra:task in(x) out(y, x) // want `x is in both in and out; want inout\(x\)`
func both(x, y []float64) { y[0] = x[0] }

//intra:task in(x) inout(x) // want `x is in both in and inout; it belongs into one clause`
func both2(x []float64) { x[0] = x[1] }

//intra:task in(x, x) // want `x is named twice in in`
func twice(x []float64) {}

//intra:task in(n, n.z) // want `n.z is part of in\(n\) already`
func part(n *node) {}

//intra:task in(X) // want `clause in: X is not a parameter, receiver or result of typo \(did you mean x\?\)`
func typo(x []float64) {}

//intra:task in(total, x) // want `clause in: total is not a parameter, receiver or result of pkgvar; a package variable cannot be named: pass it as a parameter`
func pkgvar(x []float64) {}

//intra:task in(x) ouput(y) // want `unknown clause "ouput" of //intra:task \(did you mean out\?\)`
func clauseTypo(x, y []float64) {}

//intra:task in(x), out(y) // want `found , between clauses; clauses are separated by blanks`
func comma(x, y []float64) {}

//intra:task in(x[0]) // want `an item takes a slice expression, not an index: \[0:0\+1\] names one element`
func index(x []float64) {}

//intra:task in(x[lo;n]) // want `found ;, want : \(a slice is x\[lo:hi\], with the end, not the length\)`
func ompss(x []float64, lo, n int) {}

//intra:task in(hi) out(x[l0:hi]) // want `the bound l0 is not a parameter or constant of bound \(did you mean lo\?\)`
func bound(x []float64, lo, hi int) {}

//intra:task in(a) out(x[a:]) // want `the bound a is a float64, want an integer`
func bound2(x []float64, a float64) {}

//intra:task in(n) out(x[f(n):]) // want `clause out: the bound f\(n\) of x calls a function, which only bounds of in may`
func bound3(x []float64, n int) {}

//intra:task in(n) out(n.w) // want `clause out: \*node has no field w \(did you mean v\?\)`
func field(n *node) {}

//intra:task in(x) reduce(+: y) // want `y is in reduce, but reduceParam never writes it; want in\(y\)`
func reduceParam(x []float64, y *float64) {}

//intra:task in(x) reduce(-: s) // want `found -, want an operator of reduce`
func reduceMinus(x []float64) (s float64) { return }

//intra:task in(x) reduce(maxx: s) // want `operator maxx is not a function of package wrong \(did you mean max\?\)`
func reduceTypo(x []float64) (s float64) { return }

//intra:task in(x) reduce(pick: s) // want `operator pick is func\(a int, b int\) int; want func\(a, b float64\) float64`
func reduceFunc(x []float64) (s float64) { return }

func pick(a, b int) int { return a }

//intra:task in(x, s) // want `clause in: s is the result; it belongs into out\(s\) or, as a partial result, into reduce\(\+: s\)`
func resultIn(x []float64) (s float64) { return }

//intra:task in(x)
func twoResults(x []float64) (a, b float64) { return } // want `kernel twoResults has 2 results, and may have one; make the others pointer parameters, in out or reduce`

//intra:task in(x)
func fails(x []float64) (err error) { return } // want `kernel fails returns an error, which cannot be sent to the other replicas; return a status through reduce\(max: code\)`

//intra:task in(x) reduce(+: m) // want `clause reduce: m is a map\[int\]int; reduce takes a slice`
func reduceMap(x []float64, m map[int]int) {}

//intra:task in(x) reduce(+: y[1:]) // want `clause reduce: y\[1:\] is a part of y, and a task gets other memory`
func reducePart(x, y []float64) { y[1] += x[0] }

//intra:task in(x) reduce(&: y) // want `operator & does not apply to float64`
func reduceBits(x, y []float64) { y[0] += x[0] }

//intra:task in(x) reduce(+: y)
func reduceAgain(x, y []float64) {
	for i, v := range x {
		y[i] += v
	}
	for _, v := range x {
		y[int(v)] += v // want `task reduceAgain folds into elements of y again and again`
	}
}

//intra:task in(x) reduce(+: y)
func reduceByHelper(x, y []float64) {
	for _, v := range x {
		addTo(y, v) // want `task reduceByHelper folds into elements of y again and again`
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
		*sum += v // want `task reduceScalar folds into elements of sum again and again`
	}
}

//intra:task in(x, n) out(y[0:1, 0:2]) // want `found \], want : in the columns left:right:width`
func noWidth(x, y []float64, n int) { y[n] = x[0] }

//intra:task in(x) out(y, y[1:]) // want `y is named twice in out`
func wholeAndPart(x, y []float64) { y[0] = x[0] }

//intra:task in(x)
func resultAndError(x []float64) (s float64, err error) { return x[0], nil } // want `kernel resultAndError has 2 results, and may have one; an error cannot be sent`

//intra:task in(x) // want `y of kernel forgot is in no clause; by its body the kernel needs out\(y\)`
func forgot(x, y []float64) { y[0] = x[0] }

//intra:task in(x)
func noName(x []float64, _ int) {} // want `a parameter of kernel noName has no name; name it, so that a clause can`

//intra:task in(x)
func collides(x []float64) {} // want `kernel collides needs the name launchCollides, which is declared at wrong.go:\d+; rename one`

func launchCollides() {}

/* want `"// intra:task" is not a directive and has no effect; write //intra:task` */ // intra:task in(x)
func near1(x []float64)                                                               {}

/* want `"//intra:Task" is not a directive and has no effect; write //intra:task` */ //intra:Task in(x)
func near2(x []float64)                                                              {}

/* want `unknown directive //intra:tsk \(did you mean task\?\)` */ //intra:tsk in(x)
func near3(x []float64)                                            {}

/* want `want a blank between //intra:task and \(in` */ //intra:task(in x)
func near4(x []float64)                                 {}

/* want `//intra:task is in the doc comment of a type declaration and has no effect` */ //intra:task in(x)
type misplaced struct{}

func body() {
	/* want `//intra:task is not in the doc comment of a function and has no effect` */ //intra:task in(x)
}
