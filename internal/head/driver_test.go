package head

import (
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// This file is the driver of a world: it carries out the actions of the head.

// do carries out actions of the head.
func (w *world) do(acts []Action) {
	for _, a := range acts {
		w.note("    -> ", a)
		switch a := a.(type) {
		case Start:
			if w.outputs[a.To] != nil {
				w.failf("%+v is started twice", a)
			}
			w.checkPlaced(a)
			w.outputs[a.To] = newOutlet(a.Process, a.Role, 0)
			w.pass(a.Node, a)
		case Adopt:
			o := newOutlet(a.Process, a.Role, 0)
			if p := w.agent(a.Node).find(a.To); p != nil {
				o.next, o.muted = p.lines, !p.log.Voiced || p.log.Generation < w.state.Recovery.Generation
			}
			o.settled = a.Gone
			w.outputs[a.To] = o
		case Kill:
			w.checkKill(a)
			w.pass(a.Node, a)
		case Send:
			w.checkSend(a)
			w.pass(a.Node, a)
		case Link:
			w.pass(a.Node, a)
		case AskQuiet:
			w.pass(a.Node, a)
		case Mute:
			w.outputs[a.To].muted = true
		case Resume:
			w.outputs[a.To].resume(w, a)
			w.pass(a.Node, a)
		case Move:
			w.outputs[a.To].process, w.outputs[a.To].role = a.Process, Joiner
		case FinishOutput:
			o := w.outputs[a.To]
			if o.settled || o.finishing {
				w.failf("the output of %+v is finished twice", a)
			}
			o.finishing = true
			if p := w.agent(a.Node).find(a.To); !a.Died && (o.muted || o.next != p.lines) {
				w.failf("%v has finished with its output at line %d, muted %v", p, o.next, o.muted)
			}
			w.waiting = append(w.waiting, OutputSettled{a.To})
		case Propose:
			if _, lost := w.state.Lost[a.Entry.Node]; lost && a.Entry.Kind == decision.Placed && a.Entry.Incarnation > 1 {
				w.failf("%s, and the host is lost", describe(a))
			}
			if d := a.Entry.Recovery; d != nil && d.Kind == recovery.Admitted {
				w.checkJoined(d)
			}
			if a.Entry.Kind == decision.Resigned {
				w.checkResigned()
			}
			if a.Entry.Kind == decision.Decided {
				w.hadBackup, w.hadSet = w.state.Backups > 0, w.state.Newest() != nil
			}
			w.proposed = append(w.proposed, a.Entry)
		case Open:
			w.open(a)
		case Publish:
			if !slices.ContainsFunc(w.state.Sets, func(s decision.Set) bool { return s.Number == a.Set.Number }) {
				w.failf("set %d is published without a kept decision about its files", a.Set.Number)
			}
			w.disk = append(w.disk, Published{Set: a.Set})
		case Discard:
			if !slices.ContainsFunc(w.state.Sets, func(s decision.Set) bool { return s.Number == a.Set && s.Abandoned != nil }) {
				w.failf("set %d is discarded without a kept decision to abandon it", a.Set)
			}
		case Log:
			if strings.HasSuffix(a.Text, "no spare process is left") {
				w.checkNoSpare(a.Text)
			}
		case Free:
			w.free(a)
		case Admit:
			w.admit(w.agent(a.Host.Node))
		case HandOver:
			w.handing = true
		case Declared:
		default:
			w.failf("unknown action %T", a)
		}
	}
}

// pass sends an action to an agent.
func (w *world) pass(node detect.ID, a Action) {
	if to := w.agent(node); !to.lost {
		to.inbox = append(to.inbox, a)
	}
}

// open looks for files.
func (w *world) open(a Open) {
	e := Opened{Found: new(decision.Folders)}
	if w.spec.files > 0 {
		e.Found.Write, e.Found.First = &job.Files{Dir: "/files", Job: a.Job}, 1
	}
	if w.spec.restart {
		e.Found.Restart = &decision.Restart{Dir: "/files", Number: 3, Cut: 2}
		for rank := range w.spec.degrees {
			e.Found.Restart.Files = append(e.Found.Restart.Files, file(rank))
		}
	}
	w.waiting = append(w.waiting, e)
}
