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
// # What the checks see
//
// The effects of a kernel and of the functions it calls are found in SSA form:
// which memory, named by a path from a parameter, is read and written. A
// kernel is refused when it certainly breaks its clauses. Function and
// interface values, assembly, reflection and unsafe pointers are not followed,
// and what cannot be proved is accepted: the checked mode of the runtime looks
// at those when the program runs. Known limits: index ranges are not compared,
// so cutting work into overlapping blocks is left to the runtime's own check;
// two parameters that alias the same array are seen as different memory.
package annotations
