package main

import (
	"fmt"
	"io"
	"math"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// problems are the classes.
var problems = map[nas.Class]problem{
	'S': {64, 64, 64, sumsOfS},
	'W': {128, 128, 32, sumsOfW},
	'A': {256, 256, 128, sumsOfA},
	'B': {512, 256, 256, sumsOfB},
	'C': {512, 512, 512, sumsOfC},
}

type problem struct {
	nx, ny, nz int          // points, powers of two
	sums       []complex128 // the results, one for each iteration
}

// points returns the number of points.
func (of problem) points() int { return of.nx * of.ny * of.nz }

// tolerance is the maximum relative error of a sum.
const tolerance = 1e-12

// describe returns the name and the counted operations of the problem, as in the original.
func (of problem) describe() nas.Problem {
	n := float64(of.points())
	return nas.Problem{Size: fmt.Sprintf("%dx%dx%d", of.nx, of.ny, of.nz), Iterations: len(of.sums), Operation: "floating point",
		Count: n * (14.8157 + 7.19641*math.Log(n) + (5.23518+7.21113*math.Log(n))*float64(len(of.sums)))}
}

// result is the output of a run. As JSON it is one line.
type result struct {
	nas.Result
	Checksums [][2]float64 `json:"checksums"`
}

// program is the benchmark.
var program = nas.Program[problem, *benchmark, *result]{
	Name: "FT", Problems: problems, Describe: problem.describe, New: newBenchmark,
}

func main() { program.Main() }

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) { r.Result.Print(w) }
