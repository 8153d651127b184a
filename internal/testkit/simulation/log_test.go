package simulation

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// The log of decisions is one list, the same for all members. A proposal takes time, and
// may be lost with the head.

// propose proposes an entry for the log. If no other node keeps the log, the entry is
// added at once.
func (l *leader) propose(e decision.Entry) {
	l.foresee(e)
	if e.Kind == decision.Recovery {
		l.deciding++
	}
	if l.w.heirs == 0 && len(l.asked) == 0 && !l.w.spec.kept {
		l.next = append(l.next, head.Committed{Entry: e})
		return
	}
	l.asked = append(l.asked, e)
}

// keep adds the next proposed entry to the log, and informs the head.
func (l *leader) keep() {
	lost := l.isStruck(l.w.spec.steady/25, 6)
	e := l.asked[0]
	l.asked = l.asked[1:]
	l.apply(e)
	if lost { // the entry is in the log, but the head is lost before it acts on it
		l.w.loseHead()
		return
	}
	l.step(head.Committed{Entry: e})
}

// apply applies an entry of the log.
func (l *leader) apply(e decision.Entry) {
	w := l.w
	if e.Kind == decision.Recovery {
		l.deciding--
	}
	late := e.ID.Rank >= len(w.spec.degrees)+w.spec.spares // it was not started with the job
	if e.Kind == decision.Placed && e.Spare && late {
		w.seen["a spare is started on a host that has joined"]++
	}
	if e.Kind == decision.Placed && !e.Spare && e.ID != e.Process {
		w.seen["a spare is used"]++
		if late {
			w.seen["a late spare is used"]++
		}
		l.at[head.From{Node: e.Node, ID: e.ID, Incarnation: firstLife}].assign(e.Process, e.Incarnation)
	}
	for _, v := range l.state.Apply(e) {
		p := w.holders[endpoint(v.Process, v.Incarnation)]
		if p == nil { // no agent has started this process
			continue
		}
		if v.Cause == job.CauseRelieved || v.Cause == job.CauseDropped {
			l.departed(p, v)
		} else if !p.dead && !p.left {
			w.fail("%v is declared dead (%s: %s), but lives", p, v.Cause, v.Detail)
		}
		if at := l.state.Places[v.Process]; at.Incarnation > v.Incarnation && at.Status != decision.Dead && !p.departed {
			w.seen["a relief replaces a dead process"]++
			l.truth.tries[v.Process]++
		}
		p.declared = true
		l.truth.dying = append(l.truth.dying, p)
	}
	l.truth.kept(l, e)
	switch {
	case e.Kind == decision.Started:
		l.joined = l.now()
	case e.Kind == decision.Decided:
		l.over, l.code = true, e.Code
	case e.Kind == decision.Released:
		l.over = true
	case e.Kind == decision.Left && e.Node != 0:
		w.seen["a host is to leave"]++
	case e.Kind == decision.Ending:
		w.seen["a job is interrupted"]++
	case e.Kind == decision.SetAbandoned:
		w.seen["files abandoned"]++
		w.disk.given[e.Abandoned.Set] = true
	case e.Kind == decision.Recovery && e.Recovery.Kind == recovery.RolledBack:
		w.seen["kept rolledback"]++
	}
}

// declareLost declares the next host lost.
func (l *leader) declareLost() {
	id := l.losing[0]
	l.losing = l.losing[1:]
	e := decision.Entry{Kind: decision.Lost, Node: id, Text: fmt.Sprint("host ", id), Testimonies: []detect.Testimony{
		{Observer: head.FirstHead, Sighting: detect.Sighting{Host: id, Age: 700 * time.Millisecond, Limit: 650 * time.Millisecond}}}}
	if l.state.Started {
		e.At = l.now() - l.joined
	}
	l.apply(e)
	l.step(head.Committed{Entry: e})
}
