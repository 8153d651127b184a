package main

import (
	"fmt"
	"io"
	"os"

	"github.com/intrahpc/intra/examples/internal/cli"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	intra "github.com/intrahpc/intra/runtime"
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
	log        int // to base 2, of the points along an edge
	iterations int
	smoother   smoother
	norm       float64 // the result
}

// edge returns how many points there are along an edge.
func (of problem) edge() int { return 1 << of.log }

// tolerance is the relative error that the result may have.
const tolerance = 1e-8

// result is what a run prints, as JSON one line.
type result struct {
	nas.Result
	Norm float64 `json:"rnm2"` // of the last residual
}

func main() { intra.Main(cli.Program(nas.Parse, run)) }

func run(p *intra.Process, set nas.Settings) error {
	b, err := newBenchmark(p, set, problems[set.Class])
	if err != nil {
		return err
	}
	if p.Rank() == 0 && !set.JSON {
		b.progress = func(iteration int) { fmt.Printf("iteration %3d\n", iteration) }
	}
	r, err := b.measure()
	if err != nil || p.Rank() > 0 {
		return err
	}
	return cli.Print(os.Stdout, r, set.JSON)
}

// measure runs the benchmark.
func (b *benchmark) measure() (*result, error) {
	if err := b.run(); err != nil {
		return nil, err
	}
	r := &result{Norm: b.norm}
	n := b.of.edge()
	var err error
	r.Result, err = nas.NewResult(b.p, "MG", b.set, nas.Problem{Size: fmt.Sprintf("%dx%dx%d", n, n, n),
		Iterations: b.of.iterations, Operation: "floating point", Count: 58 * float64(b.of.iterations*n*n*n)}, b.seconds)
	r.Verified = nas.Close(r.Norm, b.of.norm, tolerance)
	return r, err
}

// Print writes the result for people.
func (r *result) Print(w io.Writer) {
	fmt.Fprintf(w, "norm of the residual %.13e\n", r.Norm)
	r.Result.Print(w)
}
