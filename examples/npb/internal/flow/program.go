package flow

import (
	"fmt"
	"io"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// Problem is the problem of a class.
type Problem struct {
	Points int // number of points along an edge
	Steps  int
	Dt     float64
	Norms  Norms // the result
}

// Method solves the systems of a time step.
type Method interface {
	SolvePlanes(axis int) // solves the systems along x or y: axis 0 or 1
	SolveColumns()        // solves the systems along z
}

// Program is BT or SP.
type Program = nas.Program[Problem, *Benchmark, *Result]

// NewProgram returns a program. operations returns the number of operations that the
// original counts in a step, with n points along an edge.
func NewProgram(name string, problems map[nas.Class]Problem, operations func(n float64) float64, method func(*Benchmark) Method) Program {
	return Program{
		Name: name, Problems: problems,
		Describe: func(of Problem) nas.Problem {
			return nas.Problem{Size: fmt.Sprintf("%dx%dx%d", of.Points, of.Points, of.Points), Iterations: of.Steps,
				Operation: "floating point", Count: float64(of.Steps) * operations(float64(of.Points))}
		},
		New: func(run nas.Run, of Problem) (*Benchmark, error) {
			b, err := newBenchmark(run, of)
			if err == nil {
				b.method = method(b)
			}
			return b, err
		},
	}
}

// Result is the output of a run. As JSON it is one line.
type Result struct {
	nas.Result
	Norms
}

// Print writes the result as text for people.
func (r *Result) Print(w io.Writer) {
	r.Norms.Print(w)
	r.Result.Print(w)
}
