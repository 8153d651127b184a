package engine

import (
	"cmp"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// detach bounds the size of a message that the engine copies in order to complete the
// request, when only other replicas still have to send the message.
const detach = 256 << 10

// messaging returns the configuration of the engine of messages.
func (h *sharing) messaging() sdr.Config {
	c := sdr.Config{
		Rank: h.setup.Self.Rank, Replica: h.setup.Self.Replica,
		Incarnation: h.setup.Incarnation,
		Degrees:     h.setup.Degrees,
		Link:        func(rank, replica int) transport.Link { return h.linkTo(job.Process{Rank: rank, Replica: replica}) },
		Poller:      h.poller,
		Context:     h.ctx,
		Observer:    h.trace.observer(),
		Before:      beforeMessages{h},
		Ordered:     true,
		Always:      h.setup.Ordered,
		Deviates:    h.runDeviates,
	}
	if h.faults.Mid(job.KillMessage) != nil {
		c.Mid = func() func() bool { return h.faults.Mid(job.KillMessage) }
	}
	if h.poller.Crowded() { // a copy takes less time than waiting until other processes have had a core
		c.Limits.Detach = detach
	}
	if ahead := h.setup.Ahead; ahead > 0 { // all messages may be copied
		c.Limits = sdr.Limits{Eager: 1 << 20, Window: ahead / 16, Retain: ahead}
	}
	if h.flips != nil {
		c.Flip = h.flipMessage
	}
	if at := h.setup.Verify; at != nil {
		c.Sum = func(payload []byte) uint64 { return xxh3.HashSeed(payload, at.Seed) }
		c.Differ, c.Point = h.messageDiffers, h.verifier.at
	} else {
		c.SumAsserted, c.Differ = xxh3.Hash, h.assertionFails
	}
	return c
}

// assertionFails reports that the replicas of this rank have sent different contents,
// although the program asserts that its messages depend on nothing in which replicas
// differ.
func (h *sharing) assertionFails(d *sdr.Difference) {
	err := fmt.Errorf("%w: %v: the program calls AssertSendDeterministic (%s), but its messages depend on the order in which others arrive, "+
		"on the results of tests, on time, random numbers or map order; take the call out, and run with -check", ErrDiverged, d, cmp.Or(d.Asserted, "not on this replica"))
	h.endDiverged(err)
}

// runDeviates reports that a second run of the program has not sent what the first one had. It
// names the call in which the program sends, if that is known.
func (h *sharing) runDeviates(d *sdr.Deviation) {
	where := ""
	if call, at := callsite.Into(commCalls); call != "" {
		where = fmt.Sprintf(" (%s, called at %s)", call, at)
	}
	h.endDiverged(fmt.Errorf("%w: the run again from a settled point differs from the run before: %w%s: %s", ErrDiverged, d, where, job.ForgottenState))
}

// endDiverged ends the job, since replicas, or two runs of one, have diverged.
func (h *sharing) endDiverged(err error) {
	h.mu.Lock()
	ends := h.err == nil
	h.fail(err) // before the report, because the head may then end this process with another error
	h.mu.Unlock()
	if ends {
		_ = h.head.Fail(failure(err), h.Snapshot()) // without a head the job ends anyway
	}
	h.changed()
}

// messageDiffers reports that the replicas of this rank have sent different contents.
// The wrong message has been delivered, so it cannot be repaired here: the job rolls
// back, or ends.
func (h *sharing) messageDiffers(d *sdr.Difference) {
	err := fmt.Errorf("%w: %v", ErrCorrupt, d)
	h.mu.Lock()
	v, ends := h.verifier, h.err == nil
	if v.counts.Undecided = !v.dispute(failure(err)); !v.counts.Undecided {
		v.disputeSince(d.Point+1, failure(err))
	}
	for _, s := range d.Minority() { // some of these replicas may be dead by now
		p := job.Process{Rank: h.setup.Self.Rank, Replica: s.Replica}
		h.verifier.add(job.Blame{Process: p, Incarnation: s.Incarnation, Core: -1, Task: -1,
			Message: fmt.Sprintf("message %d to rank %d", d.Number, d.To)})
	}
	ends = ends && v.counts.Undecided
	h.fail(err) // before the report, because the head may then end this process with another error
	h.mu.Unlock()
	// A process that has received the message does not report the failure of its program
	// before the message is compared here. So the head receives this report first.
	if ends {
		_ = h.head.Fail(failure(err), h.Snapshot()) // without a head the job ends anyway
	} else {
		h.head.Tell(h.Snapshot)
	}
	h.changed()
}
