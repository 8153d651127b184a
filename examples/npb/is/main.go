package main

import (
	"fmt"
	"io"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// problems are the classes.
var problems = map[nas.Class]problem{
	'S': {16, 11, 9, [5]sample{{48427, 0, 1, 0}, {17148, 18, 1, 0}, {23627, 346, 1, 0}, {62548, 64917, -1, 0}, {4431, 65463, -1, 0}}},
	'W': {20, 16, 10, [5]sample{{357773, 1249, 1, 2}, {934767, 11698, 1, 2}, {875723, 1039987, -1, 0}, {898999, 1043896, -1, 0}, {404505, 1048018, -1, 0}}},
	'A': {23, 19, 10, [5]sample{{2112377, 104, 1, 1}, {662041, 17523, 1, 1}, {5336171, 123928, 1, 1}, {3642833, 8288932, -1, 1}, {4250760, 8388264, -1, 1}}},
	'B': {25, 21, 10, [5]sample{{41869, 33422937, -1, 0}, {812306, 10244, 1, 0}, {5102857, 59149, 1, 0}, {18232239, 33135281, -1, 0}, {26860214, 99, 1, 0}}},
	'C': {27, 23, 10, [5]sample{{44172927, 61147, 1, 0}, {72999161, 882988, 1, 0}, {74326391, 266290, 1, 0}, {129606274, 133997595, -1, 0}, {21736814, 133525895, -1, 0}}},
}

// problem holds the number of keys, their upper bound, and the number of buckets, all as
// binary logarithms.
type problem struct {
	keys, values, buckets int
	samples               [5]sample
}

// shift is the number of low bits of a key that do not affect its bucket.
func (of problem) shift() int { return of.values - of.buckets }

// describe returns the name and the counted operations of the problem.
func (of problem) describe() nas.Problem {
	keys := 1 << of.keys
	return nas.Problem{Size: fmt.Sprint(keys), Iterations: iterations, Operation: "keys ranked", Count: float64(iterations * keys)}
}

// sample is a key whose rank is known. In each iteration its rank changes by one, because
// other keys change.
type sample struct {
	place int // number among all keys
	rank  int // rank in iteration from
	moves int // change of the rank per iteration: 1 or -1
	from  int
}

func (s sample) want(iteration int) int { return s.rank + s.moves*(iteration-s.from) }

// result is the output of a run. As JSON it is one line.
type result struct {
	nas.Result
	Passed int `json:"passed"` // number of passed tests: the samples in each iteration, and the order on each rank
}

// program is the benchmark.
var program = nas.Program[problem, *benchmark, *result]{
	Name: "IS", Problems: problems, Describe: problem.describe, New: newBenchmark,
}

func main() { program.Main() }

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	fmt.Fprintf(w, "%d tests passed\n", r.Passed)
	r.Result.Print(w)
}
