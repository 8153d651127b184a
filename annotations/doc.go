// Package annotations reads the //intra: directives of Go source: their
// grammar, their exact positions, their resolution against go/types, and the
// checks that can be made before a program runs. The checks are an
// [golang.org/x/tools/go/analysis.Analyzer], so that intragen, go vet and
// editors report the same thing in the same words.
//
// A kernel is a function whose doc comment says what it reads and writes:
//
//	//intra:task in(alpha, x, beta, y) out(w)
//	func waxpby(alpha float64, x []float64, beta float64, y, w []float64) { … }
//
//	//intra:task in(x, y) reduce(+: sum)
//	func ddot(x, y []float64) (sum float64) { … }
//
// A section is a block or loop in which calls of kernels become tasks that the
// replicas of a rank share:
//
//	//intra:section on(p)
//	for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
//		waxpby(alpha, x[lo:hi], beta, y[lo:hi], w[lo:hi])
//	}
//
// A state type is a struct whose fields are what a process that takes the
// place of a lost one begins with. It gets a method Protect that registers
// them, all but those that are left out:
//
//	//intra:state skip(matrix)
//	type solver struct {
//		matrix *Matrix
//		x, r   []float64
//		iter   int
//	}
//
// # Grammar
//
// A directive takes one line; several lines of a kernel add up.
//
//	task      = "//intra:task" { clause } .
//	clause    = ( "in" | "out" | "inout" | "scratch" ) "(" item { "," item } ")"
//	          | "reduce" "(" operator ":" name { "," name } ")" .
//	operator  = "+" | "*" | "&&" | "||" | "&" | "|" | "^" | name .
//	item      = name { "." name } [ "[" [ bound ] ":" [ bound ] [ columns ] "]" ] .
//	columns   = "," [ bound ] ":" [ bound ] ":" bound .
//	section   = "//intra:section" [ "on" "(" name { "." name } ")" ]
//	            [ "sched" "(" ( "static" | "adaptive" | "replicate" ) ")" ] .
//	state     = "//intra:state" { "skip" "(" name { "," name } ")" } .
//
// An item is a parameter, the receiver or the named result, or a path of
// fields of one. A bound is integer arithmetic over parameters, their fields,
// constants and lengths. Every parameter, receiver and result stands in
// exactly one clause, or its fields do; a path takes only its field out of the
// clause of what it belongs to. Several parts of one array stand in the same
// clause. With columns an item is a block of a matrix that lies in a slice row
// by row: rows, columns, and the length of a row, as in x[lo:hi, 0:m:width].
//
//	in       read
//	out      written, in part or as a whole, and not read before
//	inout    read and written
//	reduce   a partial result: the result, folded into a variable of the caller,
//	         or a parameter, a slice or pointer, in whose place a task gets
//	         memory of its own that is folded element by element; in launch
//	         order, by + * min max && || & | ^ or a function of the package
//	scratch  work space: its contents mean nothing before and after
//
// In a section kernels are called in these forms, each as a statement of its
// own: f(…) without a result; v = f(…) for a result in out; v += f(…) and the
// like, v = f(…) && v, v = f(…) || v, v = min(v, f(…)), v = max(v, f(…)) and
// v = op(v, f(…)) for one in reduce. Everything else in a section is control code, which every replica
// runs.
//
// A field of a state type is saved if it is a slice of elements without
// pointers, a value of a type without pointers, something with the methods
// MarshalBinary and UnmarshalBinary or a pointer to it, or of a state type or
// a pointer to one. Any other has to be left out.
//
// # Outside of kernels
//
// [Control] is a second analyzer, for what every replica does by itself: it
// follows the time, the process-wide random source and p.Replica() within a
// function to messages, kernels, saved fields of state types and standard output,
// and reports calls of these that depend on them, or come in the order of a map.
// A line with //intra:allow, or below one, is left out.
//
// # What the checks see
//
// The effects of a kernel and of the functions it calls are found in SSA form:
// which memory, named by a path from a parameter, is read and written. A
// kernel is refused when it certainly breaks its clauses. Results, fields,
// closures and methods of values made in the kernel are followed. Function and
// interface values from elsewhere, assembly and reflection are not: they may
// read and write what they are given. What is not certain is accepted, listed
// with the flag -v, and looked at by the checked mode of the runtime. Bounds of clauses are compared with indices
// that are sums of parameters and of the counter of a loop over such sums, if
// nothing but the loop decides whether they are reached. Known limits: cutting
// work into overlapping blocks is left to the runtime's own check; two parameters that alias the same array are seen as different memory.
package annotations
