package engine

import (
	"fmt"

	"github.com/intrahpc/intra/internal/job"
)

// copyState copies the state for a backup inside the cut. The copy is sent to the holder
// while the program continues.
func (r *recovering) copyState(number uint64, holder job.Process, yield func(func())) error {
	from := r.now()
	im, err := r.program.Image()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	encoded, err := r.positionInCut(number)
	if err != nil {
		return err
	}
	rank := r.setup.Self.Rank
	var s stateCopy
	old, _ := r.slots.Reuse(rank)
	generation := r.member.Generation()
	yield(func() {
		s = stateCopy{image: im.Clone(old.memory()), at: encoded, use: newUse()}
		r.faults.StepHere(job.KillBackup, "copy")
	})
	if r.member.Generation() != generation {
		return nil // a rollback has begun, and restores an older backup
	}
	if r.slots.Put(rank, number, s) {
		stored := job.Reply{Kind: job.ReplyStored, Generation: r.member.Generation(), Number: number, Rank: rank,
			Seconds: r.since(from), Bytes: int64(im.Bytes())}
		r.reply([]job.Reply{stored})
	}
	r.give(s, holder, transferID{kind: transferBackup, rank: rank, number: number}, "send")
	return nil
}

// give sends a copy to another process while the program continues. step names the kill
// point halfway.
func (r *recovering) give(s stateCopy, to job.Process, l transferID, step string) {
	link := r.linkTo(to)
	if link == nil {
		return // the process is dead; the head finds another holder
	}
	r.streams++
	l.stream = r.streams
	l.generation, l.full = r.member.Generation(), r.slots.Full()
	s.use.Add(1)
	out := &outbound{id: l, link: link, use: s.use, poller: r.poller, left: r.traceState(l, to, s.image.Bytes())}
	go out.all(s.image, s.at, func() { r.faults.Step(job.KillBackup, step) })
}

// store keeps a copy received from another process.
func (r *recovering) store(l transferID, s stateCopy) []job.Reply {
	if l.generation < r.member.Generation() {
		return nil // the copy is from before a rollback
	}
	r.slots.Reached(l.full)
	if !r.slots.Put(l.rank, l.number, s) {
		return nil
	}
	return []job.Reply{{Kind: job.ReplyStored, Generation: r.member.Generation(), Number: l.number, Rank: l.rank}}
}

// renew sends a copy to a new holder, which replaces one that died.
func (r *recovering) renew(o job.Order) {
	if s, ok := r.slots.Get(o.Rank, o.Number); ok {
		r.give(s, o.Process, transferID{kind: transferBackup, rank: o.Rank, number: o.Number}, "send")
	}
}
