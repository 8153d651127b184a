package head

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

var update = flag.Bool("update", false, "write what the heads do into the scripts")

// TestScripts runs the scripts in testdata: commands and, after ----, the actions that the
// head takes. See testdata/README.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			got := newScript(t).run(string(text))
			if *update {
				require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(text), got)
		})
	}
}

// script is a head that the commands of a text drive.
type script struct {
	t        *testing.T
	head     *Head
	config   Config
	now      time.Duration
	state    *decision.State
	proposed []decision.Entry
	asked    []AskQuiet
	agents   agentLogs
	terms    uint64
	unseen   int // verdicts that no head has received
	out      []string
	after    func() // called after each command of a text
}

func newScript(t *testing.T) *script {
	return &script{t: t, state: decision.NewState(), agents: make(agentLogs), after: func() {}}
}

// run runs the commands of the text, and returns the text with the actions that the head takes
// now.
func (s *script) run(text string) string {
	var b strings.Builder
	skip := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case skip && line != "":
		case line == "":
			skip = false
			fmt.Fprintln(&b)
		case line == "----":
			skip = true
			fmt.Fprintln(&b, line)
			for _, l := range s.out {
				fmt.Fprintln(&b, l)
			}
			s.out = nil
		default:
			fmt.Fprintln(&b, line)
			if !strings.HasPrefix(line, "#") {
				s.command(strings.Fields(line))
				s.after()
			}
		}
	}
	return b.String()
}

// command runs one line.
func (s *script) command(words []string) {
	switch name, args := words[0], words[1:]; name {
	case "job":
		s.job(args)
	case "keep": // keeps all proposals, and the proposals that result from them
		n := len(s.proposed)
		if len(args) > 0 {
			n = s.number(args[0])
		}
		for len(s.proposed) > 0 && (len(args) == 0 || n > 0) {
			n--
			e := s.proposed[0]
			s.proposed = s.proposed[1:]
			s.state.Apply(e)
			s.step(Committed{e})
		}
	case "unheard-commits": // keeps the proposals without informing the head
		for _, e := range s.proposed {
			s.state.Apply(e)
		}
	case "running": // all placed processes join, and the job begins
		s.command([]string{"keep"})
		for _, f := range s.known() {
			s.about("started", f, nil)
			s.about("joined", f, nil)
		}
		s.command([]string{"keep"})
		s.out = nil
	case "lost":
		e := decision.Entry{Kind: decision.Lost, Node: detect.ID(s.number(args[0])), At: s.elapsed(), Text: "silent", Testimonies: testimonies(detect.ID(s.number(args[0])))}
		s.state.Apply(e)
		s.step(Committed{e})
	case "unheard-loss": // the loss of a node, while there is no head
		n := detect.ID(s.number(args[0]))
		s.unseen += len(s.state.Apply(decision.Entry{Kind: decision.Lost, Node: n, At: s.elapsed(), Text: "silent", Testimonies: testimonies(n)}))
	case "quiet": // all processes from which Quiet was requested
		asked := s.asked
		s.asked = nil
		for _, a := range asked {
			s.step(Quiet{From: a.To, Number: a.Number, Position: Position(args[0])})
		}
	case "pass": // advances the clock
		d, err := time.ParseDuration(args[0])
		require.NoError(s.t, err)
		s.now += d
		if at, ok := s.head.Deadline(); ok && at <= s.now {
			s.step(Tick{})
		}
	case "signal":
		s.step(Signalled{Signal: map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}[args[0]]})
	case "opened":
		s.opened(args)
	case "published":
		s.step(Published{Set: &checkpoint.Set{Number: uint64(s.number(args[0])), Cut: uint64(s.number(args[1])), Files: []checkpoint.File{file(0), file(1)}},
			Err: strings.Join(args[2:], " ")})
	case "suspected":
		s.step(Suspected{Node: detect.ID(s.number(args[0])), Testimonies: testimonies(detect.ID(s.number(args[0])))})
	case "disconnected":
		s.step(Disconnected{Node: detect.ID(s.number(args[0])), Text: strings.Join(args[1:], " ")})
	case "arrives": // a host with that number of slots is ready to join
		s.step(HostArrives{Host: decision.Host{Node: detect.ID(s.number(args[0])), Name: fmt.Sprint("h", s.number(args[0])-1), Slots: s.number(args[1])}})
	case "differs": // outputs of the replicas of a rank differ
		s.step(Differs{Rank: s.number(args[0]), Text: strings.Join(args[1:], " ")})
	case "continued":
		s.step(Continued{})
	case "retired":
		s.step(Retired{strings.Join(args, " ")})
	case "succeed":
		s.succeed(detect.ID(s.number(args[0])))
	case "conclude":
		s.do(s.head.Conclude())
	case "summary":
		s.summary()
	default:
		s.about(name, s.from(args[0]), args[1:])
	}
}

// elapsed returns the time since all processes had joined.
func (s *script) elapsed() time.Duration {
	if joined, begun := s.head.Joined(); begun {
		return s.now - joined
	}
	return 0
}

// job begins a job: degrees=2,1 and other settings.
func (s *script) job(args []string) {
	c := Config{Of: make(map[job.Process]detect.ID), Link: job.LinkSHM, Self: FirstHead, FirstHost: "h1"}
	nodes := 1
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "degrees":
			for d := range strings.SplitSeq(value, ",") {
				c.Degrees = append(c.Degrees, s.number(d))
			}
		case "hosts":
			nodes = s.number(value)
		case "replace":
			c.Replace = true
		case "backup":
			c.Backup.Every = uint64(s.number(value))
		case "spares":
			for range s.number(value) {
				c.Spares = append(c.Spares, FirstHead+detect.ID(nodes))
			}
		case "files":
			c.Checkpoint = &Checkpoint{Dir: "files", Every: uint64(s.number(value))}
		case "restart":
			c.Restart = "files"
		case "check":
			c.Setup.Check = true
		case "endless":
			var err error
			c.Endless, err = time.ParseDuration(value)
			require.NoError(s.t, err)
		case "verify":
			c.Setup.Verify = &job.Verification{Share: 1}
		case "kill":
			k, err := job.ParseKill(value)
			require.NoError(s.t, err)
			c.Kills = append(c.Kills, k)
		default:
			s.t.Fatalf("%s is not a setting of a job", a)
		}
	}
	for i := range nodes {
		c.Nodes = append(c.Nodes, Node{ID: FirstHead + 1 + detect.ID(i), Name: fmt.Sprint("h", i+1), Slots: 4})
	}
	for _, p := range job.Processes(c.Degrees) {
		c.Of[p] = c.Nodes[(p.Rank+p.Replica)%nodes].ID
	}
	c.Replicated = nodes > 2
	s.config, s.head = c, New(c)
	s.step(Begin{})
}

// about passes the head an event about a process.
func (s *script) about(name string, from From, args []string) {
	text := strings.Join(args, " ")
	switch name {
	case "started":
		s.step(Started{From: from, PID: 100})
	case "failed":
		s.step(Started{From: from, Err: text})
	case "joined":
		if x := s.agent(from.Node).Find(processName(from)); x != nil {
			x.Joined = true
		}
		s.step(Joined{from, &job.Hello{Tag: text != "untagged", PID: 100, Build: text, Host: "there"}})
	case "said":
		s.step(Said{from, s.message(args)})
	case "killed":
		s.step(Exited{from, exitOf(syscall.SIGKILL, 0)})
	case "starved":
		e := exitOf(syscall.SIGKILL, 0)
		e.Memory = text
		s.step(Exited{from, e})
	case "exited":
		s.step(Exited{from, exitOf(0, s.number(args[0]))})
	case "settled":
		s.step(OutputSettled{from})
	case "leaves":
		s.step(Leave{Process: from.ID, Incarnation: from.Incarnation, Reason: "drain"})
	case "gone":
		s.step(ProgramGone{from})
	case "wrote":
		s.step(Wrote{from})
	case "stopped":
		d, err := time.ParseDuration(args[0])
		require.NoError(s.t, err)
		s.step(Stopped{from, d})
	case "unheard":
		s.step(Unreachable{from, Silence(args[0]), strings.Join(args[1:], " ")})
	default:
		s.t.Fatalf("%s is not a command", name)
	}
}

// agentLogs are the logs of the agents of nodes.
type agentLogs map[detect.ID]*agentlog.Host[Event, From]

// agent returns the log of the agent of a node.
func (s *script) agent(node detect.ID) *agentlog.Host[Event, From] {
	if s.agents[node] == nil {
		s.agents[node] = new(agentlog.Host[Event, From])
	}
	return s.agents[node]
}

// known lists the processes that agents know.
func (s *script) known() (all []From) {
	for _, a := range s.agents {
		for _, x := range a.All() {
			all = append(all, x.With)
		}
	}
	slices.SortFunc(all, func(a, b From) int { return cmp.Or(a.ID.Compare(b.ID), cmp.Compare(a.Incarnation, b.Incarnation)) })
	return all
}

// message parses a message of a process.
func (s *script) message(args []string) *job.Message {
	m := &job.Message{Kind: job.Kind(args[0])}
	switch m.Kind {
	case job.KindFinish:
		m.Stats = &job.Stats{Sections: 9}
		if len(args) > 1 {
			m.Stats.Sections = int64(s.number(args[1]))
		}
	case job.KindStats:
		m.Stats = &job.Stats{Corruption: new(job.Corruption)}
		for _, a := range args[1:] {
			who, lost := strings.CutSuffix(a, "!")
			f := s.from(who + "@0")
			m.Stats.Corruption.Blames = append(m.Stats.Corruption.Blames, job.Blame{Process: f.ID, Incarnation: f.Incarnation,
				Core: 1, Section: 3, Task: 7, Kernel: "pkg.f", Lost: lost})
		}
	case job.KindHandled:
		m.Epoch = uint64(s.number(args[1]))
	case job.KindFired:
		k, err := job.ParseKill(args[1])
		require.NoError(s.t, err)
		m.Kill, m.Stats = &k, new(job.Stats)
	case job.KindFail:
		m.Failure, m.Stats = &job.Failure{Kind: job.FailureKind(args[1]), Text: strings.Join(args[2:], " ")}, new(job.Stats)
	case job.KindSuspect, job.KindMended:
		p, err := job.ParseProcess(args[1])
		require.NoError(s.t, err)
		m.Process, m.Incarnation, m.Text = &p, 1, "reset"
	case job.KindReply:
		m.Reply = s.reply(args[1:])
	}
	return m
}

// reply parses a reply: KIND, and those of NUMBER, rank=R, set=N, of=PROCESS#INCARNATION,
// round=N, generation=N, sections=N and state=N that the kind needs.
func (s *script) reply(args []string) *job.Reply {
	r := &job.Reply{Kind: job.ReplyKind(args[0])}
	for _, a := range args[1:] {
		switch key, value, _ := strings.Cut(a, "="); key {
		case "rank":
			r.Rank = s.number(value)
		case "set":
			f := file(0)
			r.Set, r.File = uint64(s.number(value)), &f
		case "of":
			f := s.from(value + "@0")
			r.Process, r.Incarnation = f.ID, f.Incarnation
		case "round":
			r.Round = uint64(s.number(value))
		case "generation":
			r.Generation = uint32(s.number(value))
		case "state":
			r.State = uint64(s.number(value))
		case "sections":
			r.Sections = uint64(s.number(value))
		default:
			r.Number = uint64(s.number(a))
		}
	}
	return r
}

// opened passes the head the files that were found: write, restart, older (the newest set
// is unusable).
func (s *script) opened(args []string) {
	e := Opened{Found: new(decision.Folders)}
	for _, a := range args {
		switch a {
		case "write":
			e.Found.Write, e.Found.First = &job.Files{Dir: "/files"}, 1
		case "restart":
			e.Found.Restart = &decision.Restart{Dir: "/files", Number: 3, Cut: 2}
			for rank := range s.config.Degrees {
				e.Found.Restart.Files = append(e.Found.Restart.Files, file(rank))
			}
		case "older":
			e.Found.Restart.Refused = []string{"set 4 of /files: rank 0: it is truncated"}
		default:
			e.Found, e.Err = nil, strings.Join(args, " ")
		}
	}
	s.step(e)
}

// succeed loses the head and its proposals. The successor runs on the given node.
func (s *script) succeed(node detect.ID) {
	s.terms++
	s.proposed, s.asked = nil, nil
	c := s.config
	c.Self = node
	var agents []Resync
	for _, n := range s.head.config.Nodes {
		if _, lost := s.state.Lost[n.ID]; lost {
			continue
		}
		r := Resync{Node: n.ID}
		for _, x := range s.agent(n.ID).All() {
			r.Processes = append(r.Processes, Resynced(x.State))
		}
		agents = append(agents, r)
	}
	var acts []Action
	s.head, acts = Restore(c, Succession{State: s.state.Clone(), Unseen: s.unseen, Agents: agents, Term: s.terms}, s.now)
	s.unseen = 0
	s.do(acts)
}

// summary prints the material of the report.
func (s *script) summary() {
	sum := s.head.Summary()
	s.out = append(s.out, strings.TrimSpace(fmt.Sprintf("ended %v, exit code %d %s", s.head.Ended(), sum.Code, sum.Text)))
	for _, p := range sum.Processes {
		s.out = append(s.out, fmt.Sprintf("%v#%d on %s: %s", p.Process.Process, p.Incarnation, p.Host, p.End))
	}
	for _, f := range sum.Failures {
		s.out = append(s.out, fmt.Sprintf("failure %v %s", f.Process, f.Cause))
	}
	for _, r := range sum.Recovery.Replacements {
		s.out = append(s.out, fmt.Sprintf("replacement %v#%d on %s of %v at %d", r.Process, r.Incarnation, r.Host, r.Donor, r.SafePoint))
	}
	for _, r := range sum.Recovery.Rollbacks {
		s.out = append(s.out, fmt.Sprintf("rollback %d to %d, lost %v, %.3f s", r.Generation, r.SafePoint, r.Lost, r.Seconds))
	}
}

func (s *script) step(e Event) { s.do(s.head.Step(e, s.now)) }

// do prints the actions of the head, and records those that a script would have to repeat.
func (s *script) do(acts []Action) {
	for _, a := range acts {
		s.out = append(s.out, describe(a))
		switch a := a.(type) {
		case Propose:
			s.proposed = append(s.proposed, a.Entry)
		case AskQuiet:
			s.asked = append(s.asked, a)
		case Start:
			if x := s.agent(a.Node).Start(processName(a.To), a.Role == First); x != nil {
				x.PID, x.With = 100, a.To
			}
		case Resume:
			s.agent(a.Node).Find(processName(a.To)).Resume(a.Generation)
		case Send:
			if x := s.agent(a.Node).Find(processName(a.To)); x != nil {
				x.Pass(a.Message)
			}
		}
	}
}

// from parses PROCESS#INCARNATION@NODE.
func (s *script) from(text string) From {
	id, node, _ := strings.Cut(text, "@")
	id, incarnation, more := strings.Cut(id, "#")
	p, err := job.ParseProcess(id)
	require.NoError(s.t, err, text)
	f := From{Node: detect.ID(s.number(node)), ID: p, Incarnation: 1}
	if more {
		f.Incarnation = uint32(s.number(incarnation))
	}
	return f
}

func (s *script) number(text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(s.t, err, text)
	return n
}
