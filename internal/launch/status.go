package launch

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/agent/jobsocket"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/head/stuck"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch/livepage"
)

// watchEvery is the interval of the checks for deadlocks.
const watchEvery = 250 * time.Millisecond

// ticker returns a ticker with that interval. If asked is false, it returns a ticker that
// never ticks.
func ticker(asked bool, every time.Duration) (ticks <-chan time.Time, stop func()) {
	if !asked {
		return nil, func() {}
	}
	t := time.NewTicker(every)
	return t.C, t.Stop
}

// watch reports to the head which processes have written output. It warns the user of
// processes that make no progress.
func (d *driver) watch() {
	for _, at := range d.outputs.wrote() {
		d.step(head.Wrote{From: at})
	}
	if d.job.Stuck.After == 0 {
		return
	}
	found := d.deadlocked()
	if found != nil && found.Apart != nil {
		d.step(head.StandApart{Apart: found.Apart})
	}
	switch {
	case len(d.head.Outlasting()) > 0: // the job will end well without those processes
		d.tellOfEndless()
	case found != nil:
		d.tellOfDeadlock(found)
	}
}

// deadlocked returns processes that wait for each other forever. It returns nil if there are
// none.
func (d *driver) deadlocked() *stuck.Deadlock {
	all, ok := d.head.Waiting()
	if !ok || !stuck.Candidate(all, d.job.Stuck.After) {
		return nil
	}
	return stuck.Find(all, d.job.Stuck.After)
}

// tellOfEndless warns the user of a process that makes no progress after every rank has
// finished in another replica. It warns once for each process.
func (d *driver) tellOfEndless() {
	for _, o := range d.head.Outlasting() {
		if o.Idle < d.job.Stuck.After || d.endless[o.Process] {
			continue
		}
		if d.endless == nil {
			d.endless = make(map[job.Process]bool)
		}
		d.endless[o.Process] = true
		then := "it is waited for, as -endless off says"
		if d.job.Endless > 0 {
			then = fmt.Sprintf("after %v it is killed (-endless)", d.job.Endless)
		}
		text := fmt.Sprintf("%v does not end: every rank has finished in another replica, and it makes no progress (%s); %s", o.Process, o.What, then)
		if d.page != nil {
			d.page.Tell(livepage.Event{Time: d.elapsed().Seconds(), Kind: "endless", Text: text})
		}
		d.warnf("%s", text)
	}
}

// tellOfDeadlock warns the user of processes that wait for each other forever, once for each
// deadlock. With Stuck.Abort it ends the job instead.
func (d *driver) tellOfDeadlock(found *stuck.Deadlock) {
	if _, works := d.head.Waiting(); !works || found.Cycle() == d.deadlock {
		return
	}
	d.deadlock = found.Cycle()
	if d.page != nil {
		d.page.Tell(livepage.Event{Time: d.elapsed().Seconds(), Kind: "deadlock", Text: found.String()})
	}
	if d.job.Stuck.Abort {
		d.step(head.Deadlocked{Text: found.String()})
		return
	}
	d.warnf("%v", found)
}

// status returns the current status of the job.
func (d *driver) status() runreport.Status {
	s := d.head.Status()
	s.Outlook, s.Page, s.Join = d.pace.Outlook(), d.pageURL, d.joinBy
	return s
}

// showStatus prints the status for the user.
func (d *driver) showStatus() {
	s := d.status()
	d.console.Notef("intrarun: %s", strings.TrimRight(s.String(), "\n"))
}

// Questions that a job answers.
const (
	askStatus = "status"
	askJSON   = "status.json"
)

// answer serves the questions of other processes about the job until stop is called.
func (d *driver) answer() (stop func()) {
	s, err := jobsocket.Serve(d.answerTo)
	if err != nil {
		d.say(head.Log{Level: head.Detail, At: d.elapsed(), Text: fmt.Sprintf("intrarun status cannot ask this job: %v", err)})
		return func() {}
	}
	return func() { _ = s.Close() }
}

// answerTo returns the answer to a question, "" if the head has ended. Any goroutine except that of
// the head may call it.
func (d *driver) answerTo(question string) string {
	text, gate := make(chan string, 1), make(chan *agents, 1)
	d.post(func() {
		if strings.HasPrefix(question, askGrow) {
			gate <- d.gate
			return
		}
		text <- d.reply(question)
	})
	select {
	case a := <-gate:
		return d.grow(a, question)
	case t := <-text:
		return t
	case <-d.done:
		return ""
	}
}

// reply returns the answer to a question, "" for an unknown one.
func (d *driver) reply(question string) string {
	switch {
	case strings.HasPrefix(question, askDrain):
		return d.drain(question)
	case strings.HasPrefix(question, askDegree):
		return d.degree(question)
	}
	if question == askJoin {
		return d.joinAt
	}
	s := d.status()
	switch question {
	case askStatus:
		return s.String()
	case askJSON:
		s.Describe()
		b, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return ""
		}
		return string(b) + "\n"
	}
	return ""
}

// AskStatus returns the status of a job of this user whose head runs on this host as process
// pid. 0 means the only such job.
func AskStatus(pid int, asJSON bool) (string, error) {
	if pid == 0 {
		jobs, err := jobsocket.Jobs()
		switch {
		case err != nil:
			return "", err
		case len(jobs) == 0:
			return "", fmt.Errorf("no job of yours has its head on this host")
		case len(jobs) > 1:
			return "", fmt.Errorf("%d jobs of yours have their heads on this host: name one of%s", len(jobs), describeJobs(jobs))
		}
		pid = jobs[0]
	}
	question := askStatus
	if asJSON {
		question = askJSON
	}
	text, err := jobsocket.Ask(pid, question)
	if err == nil && text == "" {
		err = fmt.Errorf("process %d has not answered: the job may have just ended, or be of another version", pid)
	}
	return text, err
}

// describeJobs lists processes with their command lines.
func describeJobs(jobs []int) string {
	var b strings.Builder
	for _, pid := range jobs {
		b.WriteString(fmt.Sprintf("\n  %d  ", pid))
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil { // otherwise the process has just ended
			b.WriteString(strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return b.String()
}
