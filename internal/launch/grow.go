package launch

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/agent/jobsocket"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/job"
)

// askGrow begins the question of intrarun grow; hosts follow, as for -hosts.
const askGrow = "grow "

// The first words of the answers to askGrow.
const (
	grown       = "grown "
	growRefused = "refused "
)

// growTime bounds the answer to askGrow: a host that takes longer still joins.
const growTime = jobsocket.AskTime - 2*time.Second

// grow answers askGrow: it starts an agent on each of the hosts, which join the job through a, and
// waits until they have joined. If a is nil, the job cannot start agents, and grow refuses.
func (d *driver) grow(a *agents, question string) string {
	if a == nil {
		return growRefused + "this job starts no hosts while it runs: begin it with -replace and -hosts or -hostfile"
	}
	hosts, err := job.ParseHosts(strings.TrimPrefix(question, askGrow))
	if err != nil {
		return growRefused + err.Error()
	}
	w, late := a.gate.Load(), time.After(growTime)
	results := make([]<-chan error, len(hosts))
	for i := range hosts {
		if results[i], err = w.bring(a, &hosts[i]); err != nil {
			return growRefused + err.Error()
		}
	}
	for i := range hosts {
		select {
		case err := <-results[i]:
			if err != nil {
				return growRefused + fmt.Sprintf("host %s: %v", hosts[i].Name, err)
			}
		case <-late:
			return grown + fmt.Sprintf("host %s takes its time: intrarun says when it has joined", hosts[i].Name)
		case <-d.done:
			return ""
		}
	}
	return grown + "the hosts have joined the job"
}

// awaited is a host whose agent was started and has not joined yet.
type awaited struct {
	starter *spawn.Starter
	result  chan error
}

// bring starts the agent of a host that is to join. The result arrives once the host has joined,
// or cannot.
func (w *hosts) bring(a *agents, host *job.Host) (<-chan error, error) {
	s, err := a.bootstrap([]string{host.Name})
	if err == nil && a.config.Indexed != nil {
		err = errors.New("the hosts of this job start by themselves: run intrarun join on the new one")
	}
	if err != nil {
		return nil, err
	}
	s.Join = host
	result := make(chan error, 1)
	failed := func(why string) {
		_ = w.ask(func() error { w.arrived(host.Name, errors.New(why)); return nil }) // otherwise the job has ended
	}
	return result, w.ask(func() error {
		if err := w.head.MayJoin(host.Name); err != nil {
			return err
		}
		starter := spawn.Start(s, a.watchdog, func(n spawn.Event) {
			switch {
			case n.Line != "":
				w.console.Notef("intrarun: %s: %s", n.Host, n.Line)
			case n.Error != "":
				failed(n.Error)
			default:
				failed(n.End + " before its agent had joined" + n.Said)
			}
		})
		w.awaited[host.Name] = awaited{starter, result}
		a.later = append(a.later, starter)
		return nil
	})
}

// arrived ends the wait for a host, if grow waits for it. Once the host has joined, the command
// that started its agent may end.
func (w *hosts) arrived(host string, err error) {
	at, waits := w.awaited[host]
	if !waits {
		return
	}
	delete(w.awaited, host)
	if at.result <- err; err == nil {
		at.starter.Settle()
	}
}

// AskGrow makes hosts join a job of this user whose head runs on this host as process pid. It
// returns the answer of the job.
func AskGrow(pid int, hosts string) (string, error) {
	answer, err := jobsocket.Ask(pid, askGrow+hosts)
	if err != nil {
		return "", err
	}
	if text, ok := strings.CutPrefix(answer, grown); ok {
		return text + "\n", nil
	}
	if text, ok := strings.CutPrefix(answer, growRefused); ok {
		return "", errors.New(text)
	}
	return "", fmt.Errorf("process %d has not answered: the job may have just ended, or be of another version", pid)
}
