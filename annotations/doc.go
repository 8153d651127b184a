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
// A state type is a struct whose fields are the state with which a replacement of a lost
// process begins. It gets a method Protect that registers all its fields except those in
// skip:
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
// A directive takes one line. Several directives of a kernel are combined.
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
// fields of one. A bound is integer arithmetic over parameters, their fields, constants and
// lengths. Every parameter, receiver and result is in exactly one clause, or its fields
// are; a path in another clause removes only that field from the clause of its parent.
// Several parts of one array are in the same clause. With columns an item is a block of a
// matrix that is stored row by row in a slice: rows, columns, and the length of a row, as
// in x[lo:hi, 0:m:width].
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
// In a section kernels are called in these forms, each as a statement of its own: f(…)
// without a result; v = f(…) for a result in out; v += f(…) and the like, v = f(…) && v, v
// = f(…) || v, v = min(v, f(…)), v = max(v, f(…)) and v = op(v, f(…)) for one in reduce.
// Everything else in a section is control code, which every replica runs.
//
// A field of a state type is saved if it is a slice of elements without pointers, a value
// of a type without pointers, a value with the methods MarshalBinary and UnmarshalBinary or
// a pointer to one, or a value of a state type or a pointer to one. Any other field has to
// be in skip.
//
// # Outside of kernels
//
// [Control] is a second analyzer, for the code outside of kernels, which every replica
// runs. It follows the time, the process-wide random source and p.Replica() within a
// function to messages, kernels, saved fields of state types and standard output. It
// reports calls of these that depend on such values, or are made in the order of a map. It
// ignores lines that contain //intra:allow or come directly after it.
//
// # What the checks see
//
// The effects of a kernel and of the functions that it calls are computed from SSA form:
// which memory, named by a path from a parameter, is read and written. A kernel is rejected
// if it certainly violates its clauses. Results, fields, closures and methods of values
// made in the kernel are followed. Function and interface values from elsewhere, assembly
// and reflection are not: they may read and write their arguments. Violations that are not
// certain are accepted, listed with the flag -v, and checked by the checked mode of the
// runtime.
//
// The bounds of clauses are compared with indices that are sums of parameters and of the
// counter of a loop over such sums, if the access depends on no other condition than the
// loop's. Known limits: the runtime's own check finds overlapping blocks, not these checks;
// two parameters that alias the same array count as different memory.
package annotations
