package engine

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// save writes the state to a file of a set. It copies the state in the cut, and writes the
// file while the program continues.
func (r *recovering) save(number, set uint64, yield func(func())) error {
	im, err := r.program.Image()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	encoded, err := r.positionInCut(number)
	if err != nil {
		return err
	}
	r.openWriter()
	h := checkpoint.Header{Job: r.setup.Files.Job, Set: set, Cut: number, Rank: r.setup.Self.Rank}
	r.saving.Add(1)
	yield(func() { err = r.writer.Start(h, encoded, im) })
	if err != nil { // the previous file is still being written
		r.saved(h, checkpoint.File{}, err)
	}
	return nil
}

// openWriter makes the writer of files, if files are to be written and there is none
// yet.
func (r *recovering) openWriter() {
	if f := r.setup.Files; f != nil && r.writer == nil {
		r.writer = checkpoint.NewWriter(r.ctx, f.Dir, f.Owner, r.leased, r.saved)
	}
}

// holdFolder checks that this process can write its files, so that an error shows before a
// long run and not after it. A joiner does not check, because the job needs it in any
// case.
func (r *recovering) holdFolder() error {
	r.openWriter()
	if r.writer == nil {
		return nil
	}
	if err := r.writer.Hold(); err != nil {
		return fmt.Errorf("%w: -checkpoint %s: %w", ErrRefused, r.setup.Files.Dir, err)
	}
	return nil
}

// saved reports to the head that a file was written, or why not.
func (r *recovering) saved(h checkpoint.Header, f checkpoint.File, err error) {
	reply := job.Reply{Kind: job.ReplySaved, Number: h.Cut, Set: h.Set, Rank: h.Rank}
	if err == nil {
		reply.File = &f
	} else {
		reply.Text = err.Error()
	}
	r.head.Reply(reply)
	r.saving.Add(-1)
	r.changed()
}

// written waits until no file is being written.
func (r *recovering) written() error {
	return r.ended(r.poller.Wait(r.ctx, func() bool { return r.saving.Load() == 0 }))
}

// positionInCut returns the encoded position of this rank in the current cut. The caller
// holds the lock.
func (r *recovering) positionInCut(number uint64) ([]byte, error) {
	at := r.cutAt
	if at == nil {
		var err error
		if at, err = r.position(number); err != nil {
			return nil, err
		}
	}
	return at.append(nil)
}

// restart makes this process begin with the state of its rank in a file. It is called
// before the links start, so no frame arrives meanwhile.
func (r *recovering) restart() error {
	from, self := r.setup.Restart, r.setup.Self
	position, im, err := checkpoint.Read(from.Dir, &from.Set, self.Rank)
	if err != nil {
		return err
	}
	at, err := parsePosition(position)
	if err == nil && at.Point != from.Set.Cut {
		err = fmt.Errorf("%w: of safe point %d", errPosition, at.Point)
	}
	if err != nil {
		return fmt.Errorf("the checkpoint of rank %d in set %d of %s: %w", self.Rank, from.Set.Number, from.Dir, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.resumeAt(at, r.member.Generation()); err != nil {
		return err
	}
	r.image, r.startAt = im, at
	r.member = recovery.NewMember(self, 0, r.setup.Next)
	return r.messages.Load().Cut()
}
