package main

import (
	"fmt"
	"io"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// problems are the classes.
var problems = map[nas.Class]problem{
	'S': {5, 4, forSmall, 0.5307707005734e-4},
	'W': {7, 4, forSmall, 0.6467329375339e-5},
	'A': {8, 4, forSmall, 0.2433365309069e-5},
	'B': {8, 20, forLarge, 0.1800564401355e-5},
	'C': {9, 20, forLarge, 0.5706732285740e-6},
}

type problem struct {
	log        int // binary logarithm of the number of points along an edge
	iterations int
	smoother   smoother
	norm       float64 // the result
}

// edge returns the number of points along an edge.
func (of problem) edge() int { return 1 << of.log }

// describe returns the name and the counted operations of the problem.
func (of problem) describe() nas.Problem {
	n := of.edge()
	return nas.Problem{Size: fmt.Sprintf("%dx%dx%d", n, n, n), Iterations: of.iterations,
		Operation: "floating point", Count: 58 * float64(of.iterations*n*n*n)}
}

// tolerance is the maximum relative error of the result.
const tolerance = 1e-8

// result is the output of a run. As JSON it is one line.
type result struct {
	nas.Result
	Norm float64 `json:"rnm2"` // norm of the last residual
}

// program is the benchmark.
var program = nas.Program[problem, *benchmark, *result]{
	Name: "MG", Problems: problems, Describe: problem.describe, New: newBenchmark,
}

func main() { program.Main() }

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	fmt.Fprintf(w, "norm of the residual %.13e\n", r.Norm)
	r.Result.Print(w)
}
