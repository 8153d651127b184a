package engine

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/internal/replica/verify"
	"github.com/intrahpc/intra/update"
)

// compares reports whether registered states are compared.
func (v *verifier) compares() bool { return v != nil && v.every > 0 }

// compareState flips bits of the registered state, if that was requested, and checks for
// divergence. With -sdc state it compares the state with that of the other replicas, if a
// comparison is due. It is called before a cut at the same safe point.
func (r *recovering) compareState(point uint64, state *checkpoint.State) error {
	if err := r.sharing.flipState(state); err != nil {
		return err
	}
	if err := r.sharing.watch.atSafePoint(point, state); err != nil {
		return err
	}
	v := r.sharing.verifier
	if !v.compares() || point%v.every != 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !v.states.Asked(point) {
		return nil
	}
	var hash uint64
	var err error
	r.unlocked(func() { hash, err = state.Hash(v.sampler.Seed) })
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	r.inside = r.program
	defer func() { r.inside = nil }()
	// A wrong message may have corrupted the state of a majority: it corrupts the state of
	// one replica, and shared results then corrupt other replicas. The majority counts as sound.
	// So the hashes of the messages are sent first.
	if err := v.sendSums(false); err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	if err := v.compareState(point, hash, v.yield); err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	return nil
}

// compareState compares the state at a safe point by its hash. It returns when this
// replica can continue.
func (v *verifier) compareState(point, hash uint64, yield func(func())) error {
	for _, p := range v.states.Enter(point, hash) {
		v.notify(p, update.Message{Kind: update.KindVerify, Task: wordState, Section: point}, binary.LittleEndian.AppendUint64(nil, hash))
	}
	for {
		seen := v.changes.Load()
		if v.err != nil {
			return diverged(v.err)
		}
		c := v.states.Compare()
		isNew := v.statesDiffer(point, c)
		switch {
		case c.Outcome == verify.Same:
			if v.states.Counts() {
				v.counts.Compared++
				if len(c.Faulty) > 0 {
					v.counts.Differed, v.counts.Repaired = v.counts.Differed+1, v.counts.Repaired+1
				}
			}
			return nil
		case c.Left >= 0:
			return diverged(&section.Divergence{Section: v.sharing.machine.Number(), Task: -1, Replica: v.setup.Self.Replica, Peer: c.Left,
				Mine: fmt.Sprintf("safe point %d was reached", point), Theirs: "the program returned without it"})
		}
		var err error
		yield(func() {
			if isNew { // the head kills the faulty replica, or the job rolls back
				v.head.Tell(v.Snapshot)
			}
			err = v.ended(v.poller.Wait(v.runCtx, func() bool { return v.changedSince(seen) }))
		})
		if err != nil {
			return err
		}
	}
}

// statesDiffer records the faulty processes and disputes that follow from a comparison of states.
// It reports whether the head has to be informed.
func (v *verifier) statesDiffer(point uint64, c verify.Comparison) (isNew bool) {
	if c.Outcome == verify.Unknown && v.counts.Dispute == nil {
		text := fmt.Sprintf("the registered state at safe point %d differs, and it cannot be told whose is wrong (%s)", point, votes(c))
		if point == v.every {
			text += "; what differs by nature, such as a time, needs a type with a method Measured (see intra.Measured)"
		}
		v.counts.Dispute = &job.Dispute{Point: point, Generation: v.sharing.generation, Text: text}
		isNew = true
	}
	for _, g := range c.Faulty {
		p := job.Process{Rank: v.setup.Self.Rank, Replica: g}
		incarnation, lives := v.incarnations[p]
		if !lives {
			continue
		}
		s := job.Blame{Process: p, Incarnation: incarnation, Core: -1, Section: v.sharing.machine.Number(), Task: -1, Point: point}
		if p == v.setup.Self {
			s.Core, s.Lost = affinity.Processor(), true
			if v.erred > 0 {
				s.Seconds = v.since(v.erred)
			}
		}
		isNew = v.add(s) || isNew
	}
	return isNew
}

func votes(c verify.Comparison) string {
	all := make([]string, len(c.Votes))
	for i, v := range c.Votes {
		all[i] = fmt.Sprintf("replica %d: %016x", v.Replica, v.Hash)
	}
	return strings.Join(all, ", ")
}

// stateAt returns a hash of the registered state in a cut, 0 if it is not needed. After an
// error the job rolls back only to a cut in which the hashes of all replicas were equal.
func (r *recovering) stateAt(point uint64, yield func(func())) (hash uint64, err error) {
	v, p := r.sharing.verifier, r.program
	if v == nil || !v.backups || p == nil || len(r.sharing.peers) < 2 || r.member.Cancelled() {
		return 0, nil
	}
	if v.compares() && point%v.every == 0 {
		return 0, nil // the states have just been compared
	}
	yield(func() { hash, err = p.state.Hash(v.sampler.Seed) })
	if err != nil {
		return 0, fmt.Errorf("safe point: %w", err)
	}
	return max(hash, 1), nil
}

// flipState flips bits of the registered state, if that was requested.
func (h *sharing) flipState(state *checkpoint.State) error {
	if h.flips == nil {
		return nil
	}
	flipped, err := h.flips.Passed(state.Memory())
	if flipped {
		h.erred()
	}
	return err
}
