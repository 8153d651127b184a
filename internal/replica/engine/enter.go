package engine

import (
	"time"

	"github.com/intrahpc/intra/update"
)

// enter begins s, whose tasks have all been launched.
func (h *sharing) enter(s *Section) error {
	signature := signatureOf(s)
	h.measure(s)
	s.helpers.size = h.concurrency(s)
	if h.verifier != nil {
		h.verifier.sample(s)
	}
	if err := h.schedule(s); err != nil {
		return err
	}
	if err := s.exchange.enter(s, signature); err != nil || s.verifier == nil {
		return err
	}
	s.verifier.enter(s, signature)
	return nil
}

// signatureOf returns the signature of the launched tasks, and sets the traffic of each. The
// signature must be equal on all replicas.
func signatureOf(s *Section) uint64 {
	var sig update.Signature
	for i := range s.Tasks {
		t := &s.Tasks[i]
		t.read, t.written = sig.Add(t.Kernel.typeSum(), t.Regions)
	}
	return sig.Sum()
}

// measure looks up the statistics of tasks that are similar to those of s.
func (h *sharing) measure(s *Section) {
	for i := range s.Tasks {
		l := &s.Tasks[i]
		update.Aliased(l.Regions)
		l.known, l.bytes = h.stats.of(l.Kernel), update.Size(l.Regions)
		if i > 0 && l.like(&s.Tasks[i-1]) {
			l.times = s.Tasks[i-1].times
			continue
		}
		l.times = l.known.timesOf(l)
		l.times.Transfer = h.delivery(l)
	}
}

// like reports whether t has regions of the same sizes as o, a task with statistics.
func (t *Task) like(o *Task) bool {
	if t.Kernel != o.Kernel || len(t.Regions) != len(o.Regions) {
		return false
	}
	for i := range t.Regions {
		if len(t.Regions[i].Mem) != len(o.Regions[i].Mem) || t.Regions[i].Mode != o.Regions[i].Mode {
			return false
		}
	}
	return true
}

// delivery returns roughly how long the update of a task takes to arrive.
func (h *sharing) delivery(l *Task) time.Duration {
	if t := h.bandwidth.time(l.bytes); t > 0 {
		return t
	}
	return time.Duration(l.bytes) // the time on a link of 1 GB/s
}

// patience returns how long a peer's claim of a task is trusted: twice the time that such
// a task takes here, plus the time of its update, which may queue behind those of all
// workers. While nothing is known the time is long, because the head fences a peer that
// has stopped before that.
func (h *sharing) patience(l *Task) time.Duration {
	const unknown, slack = 100 * time.Millisecond, 200 * time.Microsecond
	if l.known.average == 0 {
		return unknown
	}
	return 2*(l.known.average+l.times.Transfer*time.Duration(len(h.workers))) + slack
}
