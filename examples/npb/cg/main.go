package main

import (
	"fmt"
	"io"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// problems are the classes.
var problems = map[nas.Class]problem{
	'S': {1400, 7, 15, 10, 8.5971775078648},
	'W': {7000, 8, 15, 12, 10.362595087124},
	'A': {14000, 11, 15, 20, 17.130235054029},
	'B': {75000, 13, 75, 60, 22.712745482631},
	'C': {150000, 15, 75, 110, 28.973605592845},
}

type problem struct {
	rows    int
	entries int // number of entries of each random vector of which the matrix is made
	steps   int
	shift   float64 // of the eigenvalues
	zeta    float64 // the result
}

// tolerance is the maximum relative error of the result.
const tolerance = 1e-10

// describe returns the name and the counted operations of the problem.
func (of problem) describe() nas.Problem {
	product := float64(of.entries * (of.entries + 1))
	return nas.Problem{Size: fmt.Sprint(of.rows), Iterations: of.steps, Operation: "floating point",
		Count: 2 * float64(of.steps*of.rows) * (3 + product + iterations*(5+product) + 3)}
}

// result is the output of a run. As JSON it is one line.
type result struct {
	nas.Result
	Zeta  float64 `json:"zeta"`
	RNorm float64 `json:"rnorm"` // norm of the residual of the last system
}

// program is the benchmark.
var program = nas.Program[problem, *benchmark, *result]{
	Name: "CG", Problems: problems, Describe: problem.describe, New: newBenchmark,
}

func main() { program.Main() }

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	fmt.Fprintf(w, "zeta %.13f\n", r.Zeta)
	r.Result.Print(w)
}
