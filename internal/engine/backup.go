package engine

import (
	"fmt"

	"github.com/intrahpc/intra/internal/job"
)

// copyState copies the state for a backup, in the cut, and has it sent to the
// holder beside the computation.
func (e *Engine) copyState(number uint64, holder job.Process) error {
	from := e.now()
	im, err := e.program.Image()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	encoded, err := e.positionInCut(number)
	if err != nil {
		return err
	}
	rank := e.setup.Self.Rank
	var s stateCopy
	old, _ := e.slots.Reuse(rank)
	generation := e.member.Generation()
	e.unlocked(func() {
		s = stateCopy{image: im.Clone(old.memory()), at: encoded, use: newUse()}
		e.kills.stepHere(job.KillBackup, "copy")
	})
	if e.member.Generation() != generation {
		return nil // the job goes back meanwhile: the copy is younger than what it goes back to
	}
	if e.slots.Put(rank, number, s) {
		r := job.Reply{Kind: job.ReplyStored, Generation: e.member.Generation(), Number: number, Rank: rank,
			Seconds: e.since(from), Bytes: int64(im.Bytes())}
		e.reply([]job.Reply{r})
	}
	e.give(s, holder, transferID{kind: transferBackup, rank: rank, number: number}, "send")
	return nil
}

// give sends a copy to another process, beside whatever goes on. step is the
// kill point in the middle of it.
func (e *Engine) give(s stateCopy, to job.Process, l transferID, step string) {
	link := e.linkTo(to)
	if link == nil {
		return // it has died, and the head will know what to do
	}
	e.streams++
	l.stream = e.streams
	l.generation, l.full = e.member.Generation(), e.slots.Full()
	s.use.Add(1)
	out := &outbound{id: l, link: link, use: s.use, poller: e.poller}
	go out.all(s.image, s.at, func() { e.kills.step(job.KillBackup, step) })
}

// store keeps a copy that has come from another process.
func (e *Engine) store(l transferID, s stateCopy) []job.Reply {
	if l.generation < e.member.Generation() {
		return nil // from before a rollback
	}
	e.slots.Complete(l.full)
	if !e.slots.Put(l.rank, l.number, s) {
		return nil
	}
	return []job.Reply{{Kind: job.ReplyStored, Generation: e.member.Generation(), Number: l.number, Rank: l.rank}}
}

// renew gives a copy to a new holder, in place of one that died.
func (e *Engine) renew(o job.Order) {
	if s, ok := e.slots.Get(o.Rank, o.Number); ok {
		e.give(s, o.Process, transferID{kind: transferBackup, rank: o.Rank, number: o.Number}, "send")
	}
}
