package engine

import (
	"fmt"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// save has the state written to a file of a set, in the cut: it is copied
// here, and the file is written beside the computation.
func (e *Engine) save(number, set uint64) error {
	im, err := e.program.Image()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	encoded, err := e.positionInCut(number)
	if err != nil {
		return err
	}
	if e.writer == nil {
		e.writer = checkpoint.NewWriter(e.ctx, e.setup.Files.Dir, e.leased, e.saved)
	}
	h := checkpoint.Header{Job: e.setup.Files.Job, Set: set, Cut: number, Rank: e.setup.Self.Rank}
	e.saving.Add(1)
	e.unlocked(func() { err = e.writer.Start(h, encoded, im) })
	if err != nil { // the one before is not written yet
		e.saved(h, checkpoint.File{}, err)
	}
	return nil
}

// saved tells the head what became of a file.
func (e *Engine) saved(h checkpoint.Header, f checkpoint.File, err error) {
	r := job.Reply{Kind: job.ReplySaved, Number: h.Cut, Set: h.Set, Rank: h.Rank}
	if err == nil {
		r.File = &f
	} else {
		r.Text = err.Error()
	}
	e.head.Reply(r)
	e.saving.Add(-1)
	e.changed()
}

// written waits until no file is being written.
func (e *Engine) written() error {
	return e.ended(e.poller.Wait(e.ctx, func() bool { return e.saving.Load() == 0 }))
}

// positionInCut returns where this rank stands in the cut that it is in, as
// it is stored, under the lock.
func (e *Engine) positionInCut(number uint64) ([]byte, error) {
	at := e.cutAt
	if at == nil {
		var err error
		if at, err = e.position(number); err != nil {
			return nil, err
		}
	}
	return at.append(nil)
}

// restart makes this process begin with the state of its rank in a file. It
// is called before the links are started, so nothing arrives meanwhile.
func (e *Engine) restart() error {
	r, self := e.setup.Restart, e.setup.Self
	position, im, err := checkpoint.Read(r.Dir, &r.Set, self.Rank)
	if err != nil {
		return err
	}
	at, err := parsePosition(position)
	if err == nil && at.Point != r.Set.Cut {
		err = fmt.Errorf("%w: of safe point %d", errPosition, at.Point)
	}
	if err != nil {
		return fmt.Errorf("the checkpoint of rank %d in set %d of %s: %w", self.Rank, r.Set.Number, r.Dir, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.resumeAt(at); err != nil {
		return err
	}
	e.image, e.startAt = im, at
	e.member = recovery.NewMember(self, 0, e.setup.Next)
	return e.msgs.Load().Cut()
}
