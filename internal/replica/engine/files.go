package engine

import "github.com/intrahpc/intra/internal/job"

// Files are the output files of a run of the program. Package file implements it.
type Files interface {
	// Settle makes written data durable, because the state of this process is about to be
	// copied.
	Settle() error
	// Resume is called at the first safe point of a restored run. back means that all ranks
	// have rolled back to this safe point together.
	Resume(back bool) error
	// Keep returns what a later run of the program in this process needs to continue the files
	// from this safe point, alone, beside their positions.
	Keep() any
	// Return is called with the error of the program when it has returned.
	Return(err error) error
	// Release removes files that only a rollback would have needed. The job has ended.
	Release()
}

// UseFiles gives the run its output files. Their positions are part of the state.
func (p *Program) UseFiles(f Files) error {
	p.files = f
	return p.Protect("intra.files", f)
}

// Files returns the output files of the run, nil if it has none.
func (p *Program) Files() Files { return p.files }

// keepFiles returns the result of Files.Keep.
func (p *Program) keepFiles() any {
	if p.files == nil {
		return nil
	}
	return p.files.Keep()
}

// KeptFiles returns what Files.Keep has returned at the safe point at which a second run
// begins, nil if this is the first run.
func (p *Program) KeptFiles() any {
	if p.second == nil {
		return nil
	}
	return p.second.from.files
}

// RunsAgain reports whether processes of this rank may run again alone. It is the same on all
// replicas.
func (p *Program) RunsAgain() bool {
	return p.engine != nil && p.engine.setup.Ordered && p.Degrees[p.Self.Rank] > 1
}

// Cut returns the number of the last consistent cut of all processes, 0 if there was none.
func (p *Program) Cut() uint64 { return p.cut }

// Oldest returns the oldest safe point to which the job may roll back, or from which it
// may restart, 0 if unknown. Between two cuts it is the same in all processes.
func (p *Program) Oldest() uint64 { return p.oldest }

// Job returns a number that distinguishes the job from others, 0 if the process was started by
// itself.
func (p *Program) Job() uint32 {
	if p.engine == nil {
		return 0
	}
	return p.engine.setup.Job
}

// Passed reports whether the run has passed a safe point.
func (p *Program) Passed() bool { return p.points.Load() > 0 && !p.Resuming() }

// Trial reports whether the run is a trial of checked mode, whose effects must not be seen
// outside.
func (p *Program) Trial() bool { return p.trial }

// MayReturn reports whether the job may roll back to one of its safe points.
func (p *Program) MayReturn() bool {
	return p.engine != nil && (p.engine.setup.Next > 0 || p.engine.setup.Files != nil)
}

// Apart reports whether the replicas of the rank may be on several hosts. Between two cuts
// all replicas get the same result.
func (p *Program) Apart() bool {
	if p.engine == nil || p.Degrees[p.Self.Rank] == 1 {
		return false
	}
	p.engine.mu.Lock()
	defer p.engine.mu.Unlock()
	return !p.engine.setup.Together || p.engine.sharing.scattered
}

// FileSteps returns a function that package file calls between the steps of its calls. The
// function kills this process if that was requested. FileSteps returns nil if no such kill
// is due. Only the goroutine of the program calls it.
func (p *Program) FileSteps() func() {
	if p.engine == nil || p.trial || p.engine.faults.Mid(job.KillFile) == nil {
		return nil
	}
	return func() { p.engine.faults.At(job.KillFile) }
}

// resumeFiles lets the output files continue at the safe point at which the run began.
func (p *Program) resumeFiles() error {
	if p.files == nil {
		return nil
	}
	return p.files.Resume(!p.joined && !p.trial && p.second == nil)
}

// settleFiles makes durable what the program has written to its output files. It releases
// the lock; meanwhile a rollback may end the program.
func (r *recovering) settleFiles(yield func(func())) (err error) {
	if p := r.program; p != nil && p.files != nil {
		yield(func() { err = p.files.Settle() })
	}
	return err
}

// releaseFiles is called when the process is about to end.
func (r *recovering) releaseFiles() {
	r.mu.Lock()
	p := r.program
	r.mu.Unlock()
	if p != nil && p.files != nil {
		p.files.Release()
	}
}
