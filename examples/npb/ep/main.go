package main

import (
	"fmt"
	"io"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// problems are the classes. The results are two known sums.
var problems = map[nas.Class]problem{
	'S': {24, [2]float64{-3.247834652034740e3, -6.958407078382297e3}},
	'W': {25, [2]float64{-2.863319731645753e3, -6.320053679109499e3}},
	'A': {28, [2]float64{-4.295875165629892e3, -1.580732573678431e4}},
	'B': {30, [2]float64{4.033815542441498e4, -2.660669192809235e4}},
	'C': {32, [2]float64{4.764367927995374e4, -8.084072988043731e4}},
}

type problem struct {
	log  int        // binary logarithm of the number of pairs
	sums [2]float64 // sums of the numbers in x and in y
}

// describe returns the name and the counted operations of the problem.
func (of problem) describe() nas.Problem {
	numbers := 2 << of.log
	return nas.Problem{Size: fmt.Sprint(numbers), Operation: "Random numbers generated", Count: float64(numbers)}
}

// tolerance is the maximum relative error of a sum.
const tolerance = 1e-8

// result is the output of a run. As JSON it is one line.
type result struct {
	nas.Result
	SX     float64     `json:"sx"`
	SY     float64     `json:"sy"`
	Counts [annuli]int `json:"counts"`
	Pairs  int         `json:"pairs"` // number of accepted pairs
}

// program is the benchmark.
var program = nas.Program[problem, *benchmark, *result]{
	Name: "EP", Problems: problems, Describe: problem.describe, New: newBenchmark,
}

func main() { program.Main() }

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	fmt.Fprintf(w, "EP: %d pairs of normally distributed numbers\n", r.Pairs)
	fmt.Fprintf(w, "sums %22.15e %22.15e\n", r.SX, r.SY)
	for k, n := range r.Counts {
		fmt.Fprintf(w, "%3d %12d\n", k, n)
	}
	r.Result.Print(w)
}
