// Package annotations reads the //intra: directives of Go source. It defines their grammar
// and positions, resolves them against go/types, and makes the checks that are possible
// before a program runs. The checks are an [golang.org/x/tools/go/analysis.Analyzer], so that
// intragen, go vet and editors report the same errors.
//
// A kernel is a function whose doc comment declares which memory it reads and writes:
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
//	            [ "sched" "(" ( "static" | "adaptive" | "replicate" ) ")" ] [ "keep" ] .
//	state     = "//intra:state" { "skip" "(" name { "," name } ")" } .
//
// An item is a parameter, the receiver or the named result, or a path of fields of one. A
// bound is integer arithmetic over parameters, their fields, constants and lengths. In the
// clause in it may also call pure functions of such arguments, as in
// x[a.First(lo, n):a.Last(lo, n)].
//
// Every parameter, receiver and result is in exactly one clause, or its fields are. A path in
// another clause removes only that field from the clause of its parent. Several parts of one
// array are in the same clause. With columns an item is a block of a matrix that is stored
// row by row in a slice: rows, columns, and the length of a row, as in x[lo:hi, 0:m:width].
//
//	in       read
//	out      written, in part or as a whole, and not read before
//	inout    read and written
//	reduce   a partial result, folded in launch order by + * min max && || & | ^ or
//	         a function of the package: either the result, folded into a variable of
//	         the caller; or a slice or pointer parameter, in whose place each task
//	         gets memory of its own, which is folded element by element
//	scratch  work space, whose contents have no meaning before and after
//
// A section calls kernels in the following forms, each as a statement of its own:
//
//   - f(…) without a result,
//   - v = f(…) for a result in out,
//   - v += f(…) and the like, v = f(…) && v, v = f(…) || v, v = min(v, f(…)),
//     v = max(v, f(…)) and v = op(v, f(…)) for a result in reduce.
//
// All other code in a section is control code, which every replica runs.
//
// A field of a state type is saved if it is one of the following. Any other field has to be
// in skip.
//
//   - a slice of elements without pointers
//   - a value of a type without pointers
//   - a value with the methods MarshalBinary and UnmarshalBinary, or a pointer to one
//   - a value of a state type, or a pointer to one
//
// # Outside of kernels
//
// [Control] is a second analyzer, for the code outside of kernels, which every replica runs.
// It follows values that differ between replicas within a function: the time, the
// process-wide random source and p.Replica(). It reports where such a value, or the order of
// a map, reaches a message, a kernel, a saved field of a state type or standard output. It
// ignores lines that contain //intra:allow, or directly follow it.
//
// # Precision of the checks
//
// The checks compute the effects of a kernel, and of the functions that it calls, from SSA
// form: the memory that is read and written, named by a path from a parameter. A kernel is
// rejected if it certainly violates its clauses. The analysis follows results, fields,
// closures and methods of values made in the kernel. It does not follow function and
// interface values from elsewhere, assembly and reflection: these may read and write their
// arguments. Uncertain violations are accepted. The flag -v lists them, and the checked mode
// of the runtime detects them.
//
// The checks compare the bounds of clauses with indices that are sums of parameters and of
// the counter of a loop over such sums. They do so only if the access depends on no other
// condition than that of the loop. They have two known limits. Only the runtime's own check
// finds overlapping blocks. Two parameters that alias the same array count as different
// memory.
//
// After a section with keep, the checks follow the statements of the function, and reject an
// access to what the tasks have written if nothing before can have fetched it. Here two names
// count as the same memory, unless the function has made both arrays.
package annotations
