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
	'S': {1400, 7, 15, 10, 8.5971775078648},
	'W': {7000, 8, 15, 12, 10.362595087124},
	'A': {14000, 11, 15, 20, 17.130235054029},
	'B': {75000, 13, 75, 60, 22.712745482631},
	'C': {150000, 15, 75, 110, 28.973605592845},
}

type problem struct {
	rows    int
	entries int // of each of the random vectors that the matrix is made of
	steps   int
	shift   float64 // of the eigenvalues
	zeta    float64 // the result
}

// tolerance is the relative error that the result may have.
const tolerance = 1e-10

// operations returns how many floating-point operations all steps take.
func (of problem) operations() float64 {
	product := float64(of.entries * (of.entries + 1))
	return 2 * float64(of.steps*of.rows) * (3 + product + iterations*(5+product) + 3)
}

// result is what a run prints, as JSON one line.
type result struct {
	nas.Result
	Zeta  float64 `json:"zeta"`
	RNorm float64 `json:"rnorm"` // of the residual of the last system
}

func main() { intra.Main(cli.Program(nas.Parse, run)) }

func run(p *intra.Process, set nas.Settings) error {
	b, err := newBenchmark(p, set, problems[set.Class])
	if err != nil {
		return err
	}
	if p.Rank() == 0 && !set.JSON {
		b.progress = func(step int, rnorm, zeta float64) {
			fmt.Printf("step %3d  residual %.6e  zeta %.13f\n", step, rnorm, zeta)
		}
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
	r := &result{Zeta: b.zeta, RNorm: b.rnorm}
	var err error
	r.Result, err = nas.NewResult(b.p, "CG", b.set, nas.Problem{Size: fmt.Sprint(b.of.rows),
		Iterations: b.of.steps, Operation: "floating point", Count: b.of.operations()}, b.seconds)
	r.Verified = nas.Close(r.Zeta, b.of.zeta, tolerance)
	return r, err
}

// Print writes the result for people.
func (r *result) Print(w io.Writer) {
	fmt.Fprintf(w, "zeta %.13f\n", r.Zeta)
	r.Result.Print(w)
}
