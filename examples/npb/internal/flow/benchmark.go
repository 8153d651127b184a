package flow

import "github.com/intrahpc/intra/examples/npb/internal/nas"

// Benchmark is the whole run on one rank.
//
//intra:state skip(of, method, Cube)
type Benchmark struct {
	nas.Run
	of     Problem
	method Method
	*Cube

	u []State // the solution
}

func newBenchmark(run nas.Run, of Problem) (*Benchmark, error) {
	b := &Benchmark{Run: run, of: of}
	var err error
	if b.Cube, err = NewCube(b.P, b.Set, NewGas(of.Points, of.Dt)); err != nil {
		return nil, err
	}
	b.u = b.Columns
	b.Protect(b.P, "flow")
	return b, nil
}

// Measure does all steps, and finds the norms of the solution. One step that is not
// timed comes first.
func (b *Benchmark) Measure() (*Result, error) {
	if err := b.Do(b.of.Steps, b.begin, b.step); err != nil {
		return nil, err
	}
	norms, err := b.Norms()
	r := &Result{Norms: norms}
	r.Verified = r.Match(b.of.Norms)
	return r, err
}

// begin does a step, and sets the solution to what it was before.
func (b *Benchmark) begin() error {
	b.Begin()
	defer b.Begin()
	return b.advance()
}

// step does the next step.
func (b *Benchmark) step() error {
	if b.Done%20 == 0 {
		b.Tell("step %4d\n", b.Done+1)
	}
	return b.advance()
}

// advance does a step.
func (b *Benchmark) advance() error {
	if err := b.FindSide(); err != nil {
		return err
	}
	b.method.SolvePlanes(0)
	b.method.SolvePlanes(1)
	if err := b.Turn(); err != nil {
		return err
	}
	b.method.SolveColumns()
	b.Add()
	return nil
}
