package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/wholefile"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch/livepage"
	"github.com/intrahpc/intra/internal/timeline"
)

// driver runs a head. One goroutine passes events to the head and carries out its actions. All
// other goroutines post functions to that one and never wait for it.
type driver struct {
	job      *Job
	console  *output.Console
	trace    *timeline.File  // nil if there is none
	reportTo *wholefile.File // nil: the report goes to no file or to standard error, or an earlier head has opened the file
	watchdog *watchdog.Watchdog
	began    time.Time // the zero of the head's clock
	outputs  *outputs
	moved    sync.Map // slots of spares that were placed: job.Process, by head.From
	agents   crew
	here     *local     // the agent of a job on this host alone, nil on several hosts
	log      *proposals // nil: decisions are not replicated
	resign   func()     // makes another host the head; nil if no other host keeps the decisions
	folder   *folder    // the folder of -checkpoint; nil: no files are written
	pauses
	joins

	head *head.Head
	next []head.Event // results of the head's actions, handled before all other events

	posts chan func()
	done  chan struct{}
	late  chan os.Signal // signals that arrived after the head had ended

	deadlock string               // the last deadlock that was reported to the user
	endless  map[job.Process]bool // processes that do not end, already reported to the user
	pace     runreport.Pace
	page     *livepage.Server  // nil if there is none
	final    *runreport.Report // report of a job that had begun, set at its end
	pageURL  string

	adopted map[head.From]agentd.ProcessResync // the agents' reports of processes that a lost head had started
	readers map[job.Process]chan agent         // readers of standard input; each receives its agent when its process starts
}

// pauses are the times during which the user stops the job (Ctrl-Z).
type pauses struct {
	suspend     func()        // stops this process until it is continued
	paused      time.Duration // total time of all pauses
	saidIgnored bool          // the user knows that Ctrl-Z is ignored
}

// joins lets other hosts join the running job.
type joins struct {
	admit  func(decision.Host) // makes a host that joins a part of the job; nil on one host
	gate   *agents             // accepts hosts that join; nil: no host can join
	joinBy string              // the command that makes another host join the job; "": no host can join
	joinAt string              // the addresses in such a command under a successor; "": no host can join
}

func newDriver(j *Job, console *output.Console, began time.Time) *driver {
	d := &driver{job: j, console: console, began: began, outputs: newOutputs(console, j.Degrees),
		posts: make(chan func()), done: make(chan struct{}), late: make(chan os.Signal, lateSignals), readers: make(map[job.Process]chan agent)}
	for replica := range j.Degrees[0] {
		if p := (job.Process{Replica: replica}); j.starts(p) {
			d.readers[p] = make(chan agent, 1)
		}
	}
	return d
}

// firstIncarnation is the incarnation of a process that replaces no other.
const firstIncarnation = 1

// feed copies r to the standard input of those replicas of rank 0 that start with the job.
func (d *driver) feed(r io.Reader) {
	in := new(output.Input)
	for p, started := range d.readers {
		of, at := agentwire.Name{ID: p, Incarnation: firstIncarnation}, agent(nil)
		in.Add(func(b []byte) {
			if at == nil {
				select {
				case at = <-started:
				case <-d.done:
					return
				}
			}
			at.Feed(of, b)
		})
	}
	in.Run(r)
}

// now returns the time of the head's clock, which is stopped while the job is paused.
func (d *driver) now() time.Duration { return time.Since(d.began) - d.paused }

// lateSignals bounds the signals that are kept for the relay.
const lateSignals = 4

// post runs f in the goroutine of the head. If the head has ended, it does nothing and returns
// false.
func (d *driver) post(f func()) bool {
	select {
	case d.posts <- f:
		return true
	case <-d.done:
		return false
	}
}

// after runs f in the goroutine of the head after t.
func (d *driver) after(t time.Duration, f func()) { time.AfterFunc(t, func() { d.post(f) }) }

// tell passes an event to the head.
func (d *driver) tell(e head.Event) { d.post(func() { d.step(e) }) }

// paceEvery is the interval at which the driver measures the job's progress.
const paceEvery = 250 * time.Millisecond

// loop runs the job until the head has nothing left to do. width returns the current width of
// the terminal for the progress line. It is nil if there is no terminal.
func (d *driver) loop(width func() int) {
	defer close(d.done)
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	tick := time.NewTicker(paceEvery)
	defer tick.Stop()
	watch, stopWatch := ticker(d.job.Stuck.After > 0 || d.job.Endless > 0, watchEvery)
	defer stopWatch()
	page, stopPage := ticker(d.page != nil, livepage.Every)
	defer stopPage()
	status, stopStatus := ticker(d.job.Status > 0, d.job.Status)
	defer stopStatus()
	defer d.answer()()
	if d.log != nil { // confirm may wait for the reader of the output, so it must not run in this goroutine
		go d.outputs.confirm(d.done, func(at head.From, w output.Written) { d.agents.at(at.Node).Written(name(at), w) })
	}
	for !d.head.Ended() {
		var due <-chan time.Time
		if at, ok := d.head.Deadline(); ok {
			alarm.Reset(at - d.now())
			due = alarm.C
		}
		select {
		case f := <-d.posts:
			f()
			d.catchUp()
		case <-due:
			d.step(head.Tick{})
		case <-tick.C:
			d.keepPace(width)
		case <-watch:
			d.watch()
		case <-status:
			d.showStatus()
		case <-page:
			d.renewPage()
		}
	}
}

// step passes an event to the head, and then the events that result from its
// actions.
func (d *driver) step(e head.Event) {
	d.do(d.head.Step(e, d.now()))
	d.catchUp()
}

// catchUp passes the results of actions to the head.
func (d *driver) catchUp() {
	for len(d.next) > 0 {
		e := d.next[0]
		d.next = d.next[1:]
		d.do(d.head.Step(e, d.now()))
	}
}

// name returns the name by which an agent knows a process.
func name(p head.From) agentwire.Name { return agentwire.Name{ID: p.ID, Incarnation: p.Incarnation} }

// do carries out actions of the head, in order.
func (d *driver) do(acts []head.Action) {
	for _, a := range acts {
		d.carryOut(a)
	}
}

func (d *driver) carryOut(a head.Action) {
	switch a := a.(type) {
	case head.Start:
		d.start(a)
	case head.Adopt:
		d.adopt(a)
	case head.Kill:
		d.agents.at(a.Node).Signal(name(a.To), a.Signal)
	case head.Send:
		d.agents.at(a.Node).Send(name(a.To), a.Message)
	case head.Link:
		d.agents.at(a.Node).Link(supervise.HostLink{Lower: a.Lower, Higher: a.Higher, Kind: a.Kind, Ring: a.Ring, Meet: a.Meet})
	case head.AskQuiet:
		d.agents.at(a.Node).Quiet(name(a.To), a.Number)
	case head.Mute:
		d.outputs.get(a.To).Mute()
	case head.Resume:
		d.resume(a)
	case head.Move:
		d.outputs.move(a.To, a.Process)
		d.moved.Store(a.To, a.Process)
		d.confirm(a.To, a.Process.Rank)
	case head.FinishOutput:
		d.finishOutput(a)
	case head.Propose:
		if d.log == nil {
			d.next = append(d.next, head.Committed(a))
			return
		}
		d.log.add(a.Entry)
	case head.Open:
		go func() {
			found, err := d.job.Folders.open(a.Job)
			d.tell(head.Opened{Found: found, Err: text(err)})
		}()
	case head.Publish:
		go d.publish(a)
	case head.Discard:
		go d.discard(a)
	case head.Admit:
		d.admit(a.Host)
	case head.Free:
		d.agents.at(a.Node).Free(a.Why)
	case head.HandOver:
		go d.resign()
	case head.Declared:
		d.trace.Dead(a.Verdict.Process, string(a.Verdict.Cause), a.Verdict.Detail)
	case head.Log:
		d.say(a)
	}
}

// publish completes a set of files. From then on, the watchdog's last words inform the user
// how to restart from the set. It writes them if intrarun is killed and no other head can
// follow.
func (d *driver) publish(a head.Publish) {
	err := d.folder.hold(a.Dir)
	if err == nil {
		err = a.Set.Complete(a.Dir)
	}
	if err == nil && d.log == nil {
		d.watchdog.LastWords(fmt.Sprintf("intrarun: it was killed; the state at safe point %d is on disk: -restart %s continues from there",
			a.Set.Cut, d.job.Folders.Checkpoint.Dir))
	}
	d.tell(head.Published{Set: a.Set, Err: text(err)})
}

// discard removes the files of a set that will never be complete.
func (d *driver) discard(a head.Discard) {
	err := d.folder.hold(a.Dir)
	if err == nil {
		err = checkpoint.Discard(a.Dir, a.Set)
	}
	if err != nil {
		d.warnf("warning: %v", err)
	}
}

// text returns the text of an error, "" if it is nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// start starts a process.
func (d *driver) start(a head.Start) {
	d.outputs.add(a.To, a.Process, a.Role)
	at := d.agents.at(a.Node)
	at.Start(name(a.To), supervise.Role(a.Role))
	switch {
	case a.Role == head.Joiner:
		d.confirm(a.To, a.Process.Rank)
	case a.Role == head.First && a.Process.Rank == 0:
		d.readers[a.Process] <- at
	}
}

// adopt creates the output of a process that was started under an earlier head. The output
// begins at the position that the process's agent has reported. If the agent has no position,
// the process counts as a joiner until resume sends one.
func (d *driver) adopt(a head.Adopt) {
	has, known := d.adopted[a.To]
	if a.Role == head.First && known && !has.Voiced {
		a.Role = head.Joiner
	}
	x := d.outputs.add(a.To, a.Process, a.Role)
	switch {
	case a.Gone || !known:
		x.Abandon()
	case a.Role == head.First:
		x.Begin(has.From, has.Out)
	case a.Role == head.Joiner:
		d.outputs.ranks[a.Process.Rank].Skip(has.Out)
	}
}

// confirm reports the position up to which a rank's output has been written to the agent of a
// process that has not written for the rank yet.
func (d *driver) confirm(at head.From, rank int) {
	for _, w := range d.outputs.ranks[rank].Written() {
		d.agents.at(at.Node).Written(name(at), w)
	}
}

// resume makes the output of a process continue at a position.
func (d *driver) resume(a head.Resume) {
	at := agentd.OutputResume{Generation: a.Generation, Anew: a.Anew}
	if err := json.Unmarshal(a.Position, &at.Position); err != nil {
		panic(fmt.Sprintf("launch: a position that cannot be read: %v", err)) // cannot fail: a driver has encoded it, and processes keep it as it is
	}
	of := d.outputs.get(a.To)
	if a.Anew {
		of.Rank().Rewind(a.Generation, at.Position)
	}
	of.Resume(at.Position, a.Generation)
	d.agents.at(a.Node).Resume(name(a.To), at)
}

// finishOutput settles the output of a process that has ended.
func (d *driver) finishOutput(a head.FinishOutput) {
	of := d.outputs.get(a.To)
	go func() {
		if words := of.Finish(a.Died, a.Itself); len(words) > 0 {
			d.console.Notef("%s", output.Prefix(a.Process, words))
		}
		if text := of.Rank().Difference(); text != "" {
			d.tell(head.Differs{Rank: a.Process.Rank, Text: text})
		}
		d.tell(head.OutputSettled{From: a.To})
	}()
}

// say prints a message for the user.
func (d *driver) say(l head.Log) {
	d.trace.Note(l.Text)
	switch l.Level {
	case head.Note:
		d.console.Notef("%s", l.Text)
	case head.Reason:
		d.console.Notef("intrarun: %s", l.Text)
	case head.Warning:
		d.warnf("%s", l.Text)
	case head.Detail:
		if d.job.Verbose {
			d.console.Notef("intrarun: %8.3f %s", l.At.Seconds(), l.Text)
		}
	}
}

// warnf warns the user, unless the job is quiet.
func (d *driver) warnf(format string, args ...any) {
	if !d.job.Quiet {
		d.console.Notef("intrarun: "+format, args...)
	}
}

// keepPace measures the progress of the job, and shows it if there is a terminal.
func (d *driver) keepPace(width func() int) {
	s := d.head.Status()
	d.pace.Add(&s)
	if width != nil {
		s.Outlook = d.pace.Outlook()
		d.console.SetProgress(s.Line(), width())
	}
}

// elapsed returns the time since all processes had joined, or since the
// beginning.
func (d *driver) elapsed() time.Duration {
	at, _ := d.head.Joined()
	return d.now() - at
}

// terminate is the signal that the head receives when the context ends.
const terminate = syscall.SIGTERM

// listen passes signals to the head, and passes the end of ctx on as terminate. It prints the
// status on asks, and pauses the job on stops.
func (d *driver) listen(ctx context.Context, signals, asks, stops <-chan os.Signal) {
	end := ctx.Done()
	for {
		select {
		case <-stops:
			d.post(d.pause)
		case <-asks:
			d.post(d.showStatus)
		case s := <-signals:
			if !d.post(func() { d.step(head.Signalled{Signal: s.(syscall.Signal)}) }) {
				select {
				case d.late <- s:
				default: // more signals than a user sends
				}
			}
		case <-end:
			end = nil
			d.tell(head.Signalled{Signal: terminate})
		case <-d.done:
			return
		}
	}
}
