package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// A worker that stores results claims several short tasks of its block at once, runs them,
// and then stores all their results. Claims, locks, clocks and frames would otherwise take
// longer than such tasks. batchTime bounds the time of a batch, because no other replica
// can run its tasks if this replica is slower than expected.
const batchTime = 20 * time.Microsecond

// batches reports whether tasks of s may run in batches. They may not if something has to
// be done before and after each task, or if other workers look for tasks, too.
func (d *stores) batches(s *Section) bool {
	return s.helpers.size == 1 && s.verifier == nil && !d.runsAlong && !d.exact()
}

// claimBatch claims further tasks to run in a batch with the task of w.
func (d *stores) claimBatch(w *worker, s *Section, first int) error {
	w.batch = append(w.batch[:0], first)
	if !d.batches(s) {
		return nil
	}
	known := s.Tasks[first].known
	for took := known.average; took > 0 && took*time.Duration(len(w.batch)+1) <= batchTime; {
		t, ok, err := d.claims.More()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		w.batch = append(w.batch, t)
		if s.Tasks[t].known != known {
			break // the time of this task is not known
		}
	}
	return nil
}

// runBatch runs the tasks of the batch of w, and stores their results. It is called with
// the lock, which it releases while bodies run and while results are copied.
func (d *stores) runBatch(w *worker, s *Section) {
	for _, t := range w.batch {
		if d.adopted(s, t) {
			d.stats.total.TasksRerun++
		}
	}
	w.along = w.along[:0]
	d.unlocked(func() { w.bodies(s) })
	spent := (w.to - w.from) / time.Duration(len(w.batch))
	for _, t := range w.batch {
		l := &s.Tasks[t]
		d.stats.ran(l, spent, nil)
		w.peers = d.claims.Ran(t, w.peers[:0])
		for _, p := range w.peers {
			w.given = append(w.given, copying{t, p})
		}
	}
	l := &s.Tasks[w.batch[0]]
	l.known.average = average(l.known.average, spent)
	l.times.Took(d.setup.Self.Replica, spent)
	s.ran += len(w.batch)
	s.inBodies += w.to - w.from
	d.unlocked(func() {
		for _, c := range w.given {
			d.copyTo(s, c.task, c.peer)
		}
	})
	for _, c := range w.given {
		d.gave(w, s, c.task, c.peer)
	}
	w.given = w.given[:0]
}

// bodies runs the tasks of the batch of w. It is called without the lock.
func (w *worker) bodies(s *Section) {
	w.from = w.now()
	w.inBody = true
	for _, t := range w.batch {
		w.inside.runTask(s, &s.Tasks[t], s.Tasks[t].Body)
		w.faults.At(job.KillTask)
	}
	w.inBody = false
	w.to = w.now()
}
