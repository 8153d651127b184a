package main

import (
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"os"

	"github.com/intrahpc/intra/examples/internal/cli"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	intra "github.com/intrahpc/intra/runtime"
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

// points returns how many there are.
func (of problem) points() int { return of.nx * of.ny * of.nz }

// tolerance is the relative error that a sum may have.
const tolerance = 1e-12

// operations returns how many floating-point operations the original counts.
func (of problem) operations() float64 {
	n := float64(of.points())
	return n * (14.8157 + 7.19641*math.Log(n) + (5.23518+7.21113*math.Log(n))*float64(len(of.sums)))
}

// result is what a run prints, as JSON one line.
type result struct {
	nas.Result
	Checksums [][2]float64 `json:"checksums"`
}

func main() { intra.Main(cli.Program(nas.Parse, run)) }

func run(p *intra.Process, set nas.Settings) error {
	b, err := newBenchmark(p, set, problems[set.Class])
	if err != nil {
		return err
	}
	if p.Rank() == 0 && !set.JSON {
		b.progress = func(iteration int, sum complex128) {
			fmt.Printf("iteration %3d  checksum %.12e %.12e\n", iteration, real(sum), imag(sum))
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
	r, verified := &result{}, true
	for i, sum := range b.sums {
		want := b.of.sums[i]
		r.Checksums = append(r.Checksums, [2]float64{real(sum), imag(sum)})
		verified = verified && cmplx.Abs((sum-want)/want) <= tolerance
	}
	var err error
	r.Result, err = nas.NewResult(b.p, "FT", b.set, nas.Problem{Size: fmt.Sprintf("%dx%dx%d", b.of.nx, b.of.ny, b.of.nz),
		Iterations: len(b.of.sums), Operation: "floating point", Count: b.of.operations()}, b.seconds)
	r.Verified = verified
	return r, err
}

// Print writes the result for people.
func (r *result) Print(w io.Writer) { r.Result.Print(w) }
