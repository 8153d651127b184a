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

// Measure carries out all steps, and computes the norms of the solution. Before that it
// carries out one step that is not timed.
func (b *Benchmark) Measure() (*Result, error) {
	if err := b.Do(b.of.Steps, b.begin, b.step); err != nil {
		return nil, err
	}
	norms, err := b.Norms()
	r := &Result{Norms: norms}
	r.Verified = r.Match(b.of.Norms)
	return r, err
}

// begin carries out a step, and restores the solution from before it.
func (b *Benchmark) begin() error {
	b.Begin()
	defer b.Begin()
	return b.advance()
}

// step carries out the next step.
func (b *Benchmark) step() error {
	if b.Done%20 == 0 {
		b.Tell("step %4d\n", b.Done+1)
	}
	return b.advance()
}

// advance carries out a step.
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
