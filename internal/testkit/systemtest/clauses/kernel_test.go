//go:build system

package clauses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// kernel is a random kernel. Its accesses are known, because it is generated from them.
type kernel struct {
	number int
	body   []string
	arrays []access
	clause []string // by array: in, out or inout
	wrong  string   // how a clause is wrong; empty: all clauses are right
	spoilt int      // the array whose clause is wrong
	then   []string // code between its passes
}

// access is the use of one array by a kernel.
type access struct {
	reads, writes bool
	readsFirst    bool // its first access is a read
	cleared       bool // no result depends on its earlier contents
}

// right returns the clause of an array.
func (a access) right() string {
	switch {
	case !a.writes:
		return "in"
	case a.reads:
		return "inout"
	}
	return "out"
}

const arrays = 3

// views are expressions for another name of the memory of $X. $O is another array, for
// forms that hold two arrays.
var views = []string{
	"$X", "$X[:]", "$X[0:len($X):len($X)]", "whole($X)", "same($X)", "view{$X}.s", "newView($X).s", "view{$X}.sub().s",
	"func() []float64 { return $X }()", "[][]float64{$O, $X}[1]", "[2][]float64{$X, $O}[0]", `map[string][]float64{"x": $X}["x"]`,
	"second($O, $X)", "slicer(view{$X}).slice()", "pick(false, $O, $X)", "pick(true, $X, $O)", "unsafe.Slice(&$X[0], len($X))",
	"nested($O, $X).b.v.s", "(&pair[float64]{$O, $X}).right()", "append([][]float64{$O}, $X)[1]", "sort.Float64Slice($X)",
	"any($X).([]float64)",
}

// reads are expressions for the value of an element of $X.
var reads = []string{
	"$X[i]", "$X[len($X)-1-i]", "view{$X}.get(i)", "getter(view{$X}).get(i)", "*(&$X[i])", "sum($X[i:i+1])", "slices.Max($X[:i+1])",
	"func() float64 { return $X[i] }()", "last(slices.Clone($X[:i+1]))", "view{$X}.get2(i)", "math.Abs($X[i])", "call(view{$X}.get, i)",
}

// writes are statements that store $V into an element of $X. The second field is true if
// the statement reads $X, too.
var writes = []struct {
	text  string
	reads bool
}{
	{"$X[i] = $V", false}, {"$X[i] += $V", true}, {"$X[i], $X[0] = $V, $V+1", false}, {"view{$X}.set(i, $V)", false}, {"setter(view{$X}).set(i, $V)", false},
	{"newView($X).put(i, $V)", false}, {"p := &$X[i]; *p = $V", false}, {"p := &$X[i]; *p = *p*0.5 + $V", true}, {"copy($X[i:], []float64{$V})", false},
	{"for j := range $X[:i+1] { $X[j] = $V }", false}, {"func(v float64) { $X[i] = v }($V)", false}, {"set := view{$X}.set; set(i, $V)", false},
	{"fill($X[i:i+1], $V)", false}, {"for c := range slices.Chunk($X, 2) { c[0] = $V }", false}, {"_ = append($X[:i], $V)", false},
	{"v := float64($V); each($X, func(p *float64) { *p = v })", false}, {"v := float64($V); each($X, func(p *float64) { *p += v })", true},
	{"func() { defer view{$X}.set(i, $V) }()", false}, {"slices.Reverse($X); $X[i] += $V", true}, {"sort.Float64s($X); $X[i] += $V", true},
	{"clear($X); $X[i] = $V", false}, {"holder.of($X).set(i, $V)", false}, {"swap($X, i, $V)", true}, {"$X[i]++; $X[i] += $V", true},
}

// newKernel makes a kernel. It depends only on the seed and the number.
func newKernel(seed uint64, number int) *kernel {
	random := rand.New(rand.NewPCG(seed, uint64(number)))
	k := &kernel{number: number, arrays: make([]access, arrays)}
	touch := func(x int, write bool) {
		a := &k.arrays[x]
		a.readsFirst = a.readsFirst || !write && !a.reads && !a.writes
		a.reads, a.writes = a.reads || !write, a.writes || write
	}
	form := func(text string, x int) string {
		other := (x + 1 + random.IntN(arrays-1)) % arrays
		return strings.NewReplacer("$X", fmt.Sprint("x", x), "$O", fmt.Sprint("x", other)).Replace(text)
	}
	for s := range 1 + random.IntN(4) {
		// The statement stores into an array a value computed from others. It accesses each by
		// another name.
		to, w := random.IntN(arrays), writes[random.IntN(len(writes))]
		value := []string{fmt.Sprint(s + 1)}
		lines := []string{}
		for r := range random.IntN(3) {
			from := random.IntN(arrays)
			name := fmt.Sprintf("r%d", r)
			lines = append(lines, fmt.Sprintf("%s := %s", name, form(views[random.IntN(len(views))], from)))
			value = append(value, fmt.Sprintf("%d*%s", r+2, strings.ReplaceAll(reads[random.IntN(len(reads))], "$X", name)))
			touch(from, false)
		}
		if w.reads {
			touch(to, false)
		}
		touch(to, true)
		k.arrays[to].cleared = k.arrays[to].cleared || strings.HasPrefix(w.text, "clear")
		lines = append(lines, fmt.Sprintf("w := %s", form(views[random.IntN(len(views))], to)))
		lines = append(lines, strings.NewReplacer("$X", "w", "$V", "("+strings.Join(value, " + ")+")").Replace(w.text))
		at := "0"
		if random.IntN(2) == 0 {
			at = "len(x0)/2"
		}
		k.body = append(k.body, fmt.Sprintf("\tif i := %s; i < len(x0) {\n\t\t%s\n\t}\n", at, strings.Join(lines, "\n\t\t")))
	}
	for _, a := range k.arrays {
		k.clause = append(k.clause, a.right())
	}
	if random.IntN(3) == 0 {
		k.spoil(random)
	}
	random = rand.New(rand.NewPCG(seed, uint64(number)|1<<32))
	for range random.IntN(3) {
		k.then = append(k.then, fmt.Sprintf("r.exchange(%d, x%d)", random.IntN(patterns), random.IntN(arrays)))
	}
	return k
}

// spoil makes one clause wrong.
func (k *kernel) spoil(random *rand.Rand) {
	x := random.IntN(arrays)
	k.spoilt = x
	switch a := k.arrays[x]; {
	case a.writes && random.IntN(2) == 0:
		k.clause[x], k.wrong = "in", fmt.Sprintf("x%d is written", x)
	case a.writes && a.readsFirst && !a.cleared:
		k.clause[x], k.wrong = "out", fmt.Sprintf("x%d is read before it is written", x)
	case a.reads && !a.writes:
		k.clause[x], k.wrong = "out", fmt.Sprintf("x%d is read, and never written", x)
	}
}

// source returns the text of a kernel.
func (k *kernel) source() string {
	var b strings.Builder
	fmt.Fprintf(&b, "//intra:task")
	for _, c := range []string{"in", "out", "inout"} {
		var items []string
		for x, have := range k.clause {
			if have == c {
				items = append(items, fmt.Sprint("x", x))
			}
		}
		if len(items) > 0 {
			fmt.Fprintf(&b, " %s(%s)", c, strings.Join(items, ", "))
		}
	}
	fmt.Fprintf(&b, "\nfunc kernel%d(x0, x1, x2 []float64) {\n%s}\n\n", k.number, strings.Join(k.body, ""))
	return b.String()
}

// section returns the function that launches a kernel, in a loop of sections.
func (k *kernel) section() string {
	var then strings.Builder
	for _, call := range k.then {
		fmt.Fprintf(&then, "\t\tif err := %s; err != nil {\n\t\t\treturn err\n\t\t}\n", call)
	}
	return fmt.Sprintf(`func section%[1]d(p *intra.Process, r *ranks, x0, x1, x2 []float64) error {
	for pass := range 3 {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(len(x0), 6) {
			kernel%[1]d(x0[lo:hi], x1[lo:hi], x2[lo:hi])
		}
		turn(pass, x0, x1, x2)
%[2]s	}
	return nil
}

`, k.number, then.String())
}

// helpers are functions that kernels use.
const helpers = `
type view struct{ s []float64 }

func newView(s []float64) *view          { return &view{s} }
func (v view) get(i int) float64         { return v.s[i] }
func (v view) get2(i int) float64        { w := v; return (&w).s[i] }
func (v view) set(i int, x float64)      { v.s[i] = x }
func (v *view) put(i int, x float64)     { v.s[i] = x }
func (v view) sub() view                 { return view{v.s[:]} }
func (v view) slice() []float64          { return v.s }

type getter interface{ get(int) float64 }
type setter interface{ set(int, float64) }
type slicer interface{ slice() []float64 }

type maker struct{}

func (maker) of(s []float64) setter { return view{s} }

var holder maker

type pair[T any] struct{ a, b []T }

func (p *pair[T]) right() []T { return p.b }

type outer struct {
	a []float64
	b struct{ v view }
}

func nested(a, b []float64) (o outer) {
	o.a, o.b.v = a, view{b}
	return o
}

func whole(s []float64) []float64                { return s }
func same[S ~[]E, E any](s S) S                   { return s }
func second(a, b []float64) []float64            { _, r := both(a, b); return r }
func both(a, b []float64) (c, d []float64)       { return a, b }
func call(f func(int) float64, i int) float64    { return f(i) }
func last(s []float64) float64                   { return s[len(s)-1] }
func pick(first bool, a, b []float64) []float64 {
	if first {
		return a
	}
	return b
}

func sum(s []float64) (r float64) {
	for _, v := range s {
		r += v
	}
	return r
}

func fill(s []float64, v float64) {
	for i := range s {
		s[i] = v
	}
}

func each(s []float64, f func(*float64)) {
	for i := range s {
		f(&s[i])
	}
}

func swap(s []float64, i int, v float64) {
	s[0], s[i] = s[i], s[0]
	s[i] += v
}
`

// control is the code of the program other than its kernels and sections.
const control = `
func main() { intra.Main(run) }

// run runs the cases that the arguments name. Each rank begins with other numbers.
func run(p *intra.Process) error {
	r := &ranks{w: p.World(), order: make([]uint64, p.Size())}
	digests := make([]uint64, p.Size())
	if os.Args[1] == "harmless" {
		n, _ := strconv.Atoi(os.Args[2])
		out, _ := strconv.Atoi(os.Args[3])
		fmt.Println(harmless(n, out))
		return nil
	}
	for _, a := range os.Args[1:] {
		n, err := strconv.Atoi(a)
		if err != nil {
			return err
		}
		x0, x1, x2 := start(n+100*p.Rank()), start(n+100*p.Rank()+1), start(n+100*p.Rank()+2)
		if err := sections[n](p, r, x0, x1, x2); err != nil {
			return fmt.Errorf("case %d: %w", n, err)
		}
		if err := comm.Allgather(r.w, []uint64{digest(x0, x1, x2)}, digests); err != nil {
			return err
		}
		if p.Rank() == 0 {
			fmt.Printf("case %d: %016x\n", n, digests)
		}
	}
	return nil
}

// harmless reports whether nothing that kernel n writes depends on what array out held
// before, though the kernel reads it: the clause out is then right after all.
func harmless(n, out int) bool {
	for lo := 0; lo < 60; lo += 10 {
		var before, after [2][3][]float64
		for turn := range 2 {
			x := [3][]float64{start(n)[lo : lo+10], start(n + 1)[lo : lo+10], start(n + 2)[lo : lo+10]}
			for i := range x[out] {
				x[out][i] = x[out][i]*float64(1-9*turn) + 0.1*float64(i*turn)
			}
			for k := range x {
				before[turn][k] = append([]float64(nil), x[k]...)
			}
			kernels[n](x[0], x[1], x[2])
			after[turn] = x
		}
		for k := range after[0] {
			for i, v := range after[0][k] {
				left := v == before[0][k][i] && after[1][k][i] == before[1][k][i]
				if v != after[1][k][i] && !left {
					return false
				}
			}
		}
	}
	return true
}

func start(n int) []float64 {
	x := make([]float64, 60)
	for i := range x {
		x[i] = math.Sin(float64(i*(n+1))) + 1.5
	}
	return x
}

// turn makes the next pass differ, and keeps the results of the last one.
func turn(pass int, all ...[]float64) {
	for k, x := range all {
		for i := range x {
			x[i] = 0.5*x[i] + 0.01*float64(i%7+k+pass)
		}
	}
}

func digest(all ...[]float64) (h uint64) {
	for _, x := range all {
		for _, v := range x {
			h = (h ^ math.Float64bits(v)) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
	}
	return h
}
`

// files returns the files of a program with these kernels, and the first line of each kernel in kernels.go.
func files(kernels []*kernel) (text map[string]string, lines []int) {
	var ks, main, table, plain strings.Builder
	ks.WriteString("package main\n\nimport (\n\t\"math\"\n\t\"slices\"\n\t\"sort\"\n\t\"unsafe\"\n)\n\nvar _ = []any{math.Abs, slices.Max[[]int], sort.Ints, unsafe.Pointer(nil)}\n")
	ks.WriteString(helpers + "\n")
	main.WriteString("//go:build !intra\n\npackage main\n\nimport (\n\t\"fmt\"\n\t\"math\"\n\t\"os\"\n\t\"strconv\"\n\n\t\"github.com/intrahpc/intra\"\n\t\"github.com/intrahpc/intra/comm\"\n)\n")
	main.WriteString(control + "\n")
	for _, k := range kernels {
		lines = append(lines, strings.Count(ks.String(), "\n")+1)
		ks.WriteString(k.source())
		main.WriteString(k.section())
		fmt.Fprintf(&table, "\t%d: section%[1]d,\n", k.number)
		fmt.Fprintf(&plain, "\t%d: kernel%[1]d,\n", k.number)
	}
	fmt.Fprintf(&main, "var sections = map[int]func(p *intra.Process, r *ranks, x0, x1, x2 []float64) error{\n%s}\n\nvar kernels = map[int]func(x0, x1, x2 []float64){\n%s}\n", table.String(), plain.String())
	exchange := "package main\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n\t\"runtime\"\n\t\"slices\"\n\n\t\"github.com/intrahpc/intra/comm\"\n)\n" + messages + exchanges
	return map[string]string{"kernels.go": ks.String(), "main.go": main.String(), "messages.go": exchange}, lines
}

// at returns the kernel that contains a line of kernels.go.
func at(kernels []*kernel, lines []int, line int) *kernel {
	i, found := slices.BinarySearch(lines, line)
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return kernels[i]
}
