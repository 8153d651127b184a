package head

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// A process changes its state only as the table permits.
func TestMoves(t *testing.T) {
	for from := chosen; from <= ended; from++ {
		for to := chosen; to <= ended; to++ {
			m := &member{state: from}
			allowed := false
			for _, next := range moves[from] {
				allowed = allowed || next == to
			}
			if !allowed {
				require.Panics(t, func() { m.to(to) }, "%v to %v", from, to)
				continue
			}
			m.to(to)
			require.Equal(t, to, m.state)
			require.True(t, to > from || from == finished && to == running, "%v returns to %v", from, to)
		}
	}
	require.Empty(t, moves[dead])
	require.Empty(t, moves[ended])
}

func TestCauses(t *testing.T) {
	signal := func(s syscall.Signal) syscall.WaitStatus { return syscall.WaitStatus(s) }
	exit := func(code int) syscall.WaitStatus { return syscall.WaitStatus(code << 8) }
	hello := &job.Hello{PID: 7}
	for _, c := range []struct {
		name   string
		m      member
		status syscall.WaitStatus
		crash  bool
		want   ending
		end    string
	}{
		{"it is known", member{ending: &ending{job.CauseLink, "broken"}, hello: hello, pid: 7}, signal(syscall.SIGKILL), false, ending{job.CauseLink, "broken"}, "fenced"},
		{"killed", member{hello: hello, pid: 7}, signal(syscall.SIGKILL), false, ending{job.CauseSignal, "killed by SIGKILL"}, "killed"},
		{"by a signal without a name", member{hello: hello, pid: 7}, signal(64), false, ending{job.CauseSignal, "killed by signal 64"}, "killed"},
		{"exited", member{hello: hello, pid: 7}, exit(3), false, ending{job.CauseExit, "text"}, "exited"},
		{"crashed", member{hello: hello, pid: 7}, exit(2), true, ending{job.CausePanic, "crashed, text"}, "exited"},
		{"quit", member{hello: hello, pid: 7}, exit(2), true, ending{job.CauseSignal, "ended by SIGQUIT"}, "killed"},
		{"under a shell", member{hello: hello, pid: 6}, exit(137), false, ending{job.CauseSignal, "killed by SIGKILL under its wrapper"}, "killed"},
		{"with such a code", member{hello: hello, pid: 7}, exit(137), false, ending{job.CauseExit, "text"}, "exited"},
		{"never joined", member{pid: 7}, exit(0), false, ending{job.CauseExit, "text; it never joined the job: is it a program that calls intra.Main?"}, "exited"},
		{"refused before it had joined", member{pid: 7}, exit(2), false, ending{job.CauseExit, "text before it had joined the job"}, "exited"},
		{"killed before it had joined", member{pid: 7}, signal(syscall.SIGTERM), false, ending{job.CauseSignal, "killed by SIGTERM"}, "killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.m.exit = &Exit{Status: c.status, Text: "text", Crashed: c.crash, Quit: c.name == "quit"}
			require.Equal(t, c.want, c.m.cause())
			require.Equal(t, c.end, endBy(c.want.cause))
		})
	}
	require.Equal(t, "lost", endBy(job.CauseHost))
}

// Timers fire in the order of their times. Timers for the same time fire in the order in which they
// were set.
func TestTimers(t *testing.T) {
	h := New(Config{})
	_, ok := h.Deadline()
	require.False(t, ok)
	h.now = time.Second
	for _, d := range []time.Duration{3, 1, 2, 1, 3} {
		h.after(d*time.Second, timer{kind: scheduledKill, kill: len(h.timers)})
	}
	var order []int
	for _, t := range h.timers {
		order = append(order, t.kill)
	}
	require.Equal(t, []int{1, 3, 2, 0, 4}, order)
	at, ok := h.Deadline()
	require.True(t, ok)
	require.Equal(t, 2*time.Second, at)
}

// A joiner starts on another host than the other replicas of its rank, if possible.
func TestHostOfAJoiner(t *testing.T) {
	for _, c := range []struct {
		name  string
		slots []int // free slots of hosts 2, 3, 4 …
		lost  []detect.ID
		cause job.Cause
		want  detect.ID
		err   string
	}{
		{"on the host of the earlier process", []int{4, 4, 4}, nil, job.CauseSignal, 3, ""},
		{"away from a link that breaks", []int{4, 4, 4}, nil, job.CauseLink, 4, ""},
		{"on the same host if there is no room", []int{1, 4, 0}, nil, job.CauseLink, 3, ""},
		{"away from a lost host", []int{4, 4, 4}, []detect.ID{3}, job.CauseHost, 4, ""},
		{"with another replica if there is no other room", []int{4, 4, 0}, []detect.ID{3}, job.CauseHost, 2, ""},
		{"not to another lost host", []int{4, 4, 4}, []detect.ID{3, 4}, job.CauseHost, 2, ""},
		{"on a host where only dead processes were", []int{4, 4, 1}, []detect.ID{3}, job.CauseHost, 4, ""},
		{"nowhere", []int{1, 4, 0}, []detect.ID{3}, job.CauseHost, 0, "host h2 is lost, and no other host has a free slot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, "degrees=2", "hosts=3", "replace") // 0.0 on node 2, 0.1 on node 3
			for i, n := range c.slots {
				s.head.config.Nodes[i].Slots = n
			}
			old := s.head.members.places[at(0, 1)]
			for _, id := range c.lost {
				s.head.state.Lost[id] = lossOf()
			}
			old.state = dead
			old.verdict = verdictOf(c.cause)
			s.head.members.all = append(s.head.members.all, &member{process: at(1, 0), from: From{Node: 4}, state: dead})
			got, err := s.head.members.settleOn(at(0, 1), old)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	s := begun(t, "degrees=2", "spares=1")
	_, err := s.head.members.settleOn(at(0, 1), s.head.members.places[at(0, 1)])
	require.EqualError(t, err, "no spare process is left")
}

// The head chooses a spare on another host than the other replicas of the rank, if there is
// one.
func TestSpareForASlot(t *testing.T) {
	for _, c := range []struct {
		name   string
		nodes  []detect.ID // nodes of the spares
		ending int         // index of the spare that is about to be killed; -1: none
		want   int
	}{
		{"the first", []detect.ID{4, 4}, -1, 0},
		{"away from the other replica", []detect.ID{2, 4}, -1, 1},
		{"beside it if no other spare is ready", []detect.ID{2, 2}, -1, 0},
		{"on the host of the dead process", []detect.ID{2, 3}, -1, 1},
		{"not one that is about to be killed", []detect.ID{4, 2}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := begun(t, "degrees=2", "hosts=3", "spares=2").head // 0.0 on node 2, 0.1 on node 3
			h.members.places[at(0, 1)].state = dead
			var spares []*member
			for _, m := range h.members.all {
				if m.state == waiting {
					m.from.Node = c.nodes[len(spares)]
					spares = append(spares, m)
				}
			}
			require.Len(t, spares, 2)
			if c.ending >= 0 {
				spares[c.ending].ending = new(ending)
			}
			require.Same(t, spares[c.want], h.members.bestSpare(at(0, 1)))
		})
	}
}

// The head reports only once that a process cannot be replaced, although it tries repeatedly.
func TestRefusalsArePrintedOnce(t *testing.T) {
	h := begun(t, "degrees=2", "replace").head
	for range 3 {
		h.members.sayRefused(at(0, 0), "0.0 cannot be replaced: no room")
		h.members.sayRefused(at(0, 1), "0.1 cannot be replaced: no room")
	}
	require.Len(t, h.acts, 2)
	require.Equal(t, "warn: 0.1 cannot be replaced: no room", describe(h.acts[1]))
}

func TestSentences(t *testing.T) {
	require.Equal(t, "a", enumerate([]string{"a"}))
	require.Equal(t, "a and b", enumerate([]string{"a", "b"}))
	require.Equal(t, "a, b and c", enumerate([]string{"a", "b", "c"}))
	require.Equal(t, "0.1: one\n0.1: two", prefix(at(0, 1), "one\ntwo\n"))
	require.Equal(t, "first", firstLine(" first\nsecond"))
	require.Equal(t, 129, InterruptCode(syscall.SIGHUP))
	require.Equal(t, 130, InterruptCode(syscall.SIGINT))
	require.Equal(t, 143, InterruptCode(syscall.SIGTERM))
}

// Both ends of a link may report it as broken. A report of an end that has died no longer
// counts. A link to a process that is about to end has no consequences.
func TestSuspectedLinks(t *testing.T) {
	const kill = "kill 1.1@2 SIGKILL"
	for _, c := range []struct {
		name     string
		commands []string
		killed   bool
	}{
		{"it stays broken", nil, true},
		{"it is restored", []string{"said 0.0@2 mended 1.1"}, false},
		{"only the other end reports it restored", []string{"said 1.1@2 mended 0.0"}, true},
		{"it is restored and breaks again", []string{"said 0.0@2 mended 1.1", "said 0.0@2 suspect 1.1"}, true},
		{"the other end is dead", []string{"killed 1.1@2", "keep"}, false},
		{"this end is dead", []string{"killed 0.0@2", "keep"}, false},
		{"the job ends", []string{"signal INT", "keep"}, false},
		{"the reporting end is reported by the other one", []string{"said 0.0@2 mended 1.1", "said 1.1@2 suspect 1.1"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, "degrees=2,2")
			s.commands("said 0.0@2 suspect 1.1")
			s.commands(c.commands...)
			require.Equal(t, c.killed, slices.Contains(s.commands("pass 500ms"), kill))
		})
	}
	s := begun(t, "degrees=2,2")
	s.commands("said 0.0@2 suspect 1.1", "pass 400ms", "stopped 1.1@2 400ms")
	require.Empty(t, s.commands("pass 100ms"), "a stopped process does not answer on its links; isStopped decides about it")
	s = begun(t, "degrees=2,2", "replace")
	s.commands("said 0.1@2 reply first", "killed 1.1@2", "keep", "settled 1.1@2", "keep",
		"said 0.0@2 suspect 1.1") // about the earlier process
	require.Empty(t, s.commands("pass 500ms"))
}

// The head fences a stopped process if another process would have to wait for it: a live
// replica of its rank that runs and is not about to die.
func TestStoppedProcessIsFenced(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		commands []string
		fenced   bool
	}{
		{"a peer runs", []string{"degrees=2"}, nil, true},
		{"no process waits for it", []string{"degrees=1,1"}, nil, false},
		{"its peer is stopped as well", []string{"degrees=2"}, []string{"stopped 0.0@2 900ms"}, false},
		{"its peer was stopped a while ago", []string{"degrees=2"}, []string{"stopped 0.0@2 900ms", "pass 1s"}, true},
		{"its peer is dead", []string{"degrees=2"}, []string{"killed 0.0@2", "keep"}, false},
		{"its peer is dying", []string{"degrees=2"}, []string{"said 0.0@2 fail error no luck"}, false},
		{"one of its two peers is dead", []string{"degrees=3"}, []string{"killed 0.0@2", "keep"}, true},
		{"the job is over", []string{"degrees=2"}, []string{"signal TERM", "keep"}, false},
		{"all have finished", []string{"degrees=2"}, []string{"said 0.0@2 finish", "said 0.1@2 finish", "keep"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, c.settings...)
			s.commands(c.commands...)
			name := "0.1@2"
			if c.settings[0] == "degrees=1,1" {
				name = "1.0@2"
			}
			require.Equal(t, c.fenced, slices.Contains(s.commands("stopped "+name+" 1s"), "kill "+name+" SIGKILL"))
		})
	}
}
