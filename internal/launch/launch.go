package launch

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/affinity"
	"github.com/intrahpc/intra/internal/agentd"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/runreport"
	"github.com/intrahpc/intra/internal/spawn"
	"github.com/intrahpc/intra/internal/supervise"
	"github.com/intrahpc/intra/internal/watchdog"
)

// Config describes one run of a program as a job.
type Config struct {
	Degrees []int
	Link    string  // job.LinkSHM, LinkUnix or LinkTCP
	Ring    int     // size of a shared-memory ring in bytes
	Limit   float64 // bandwidth of a link in bytes per second; 0: as fast as it is
	Kills   []job.Kill
	Replace bool // a process that was lost is replaced by a new one
	Spares  int  // processes that wait to take the place of lost ones
	Backup  recovery.Policy
	Weibull *Weibull // kills at random; nil: none

	Checkpoint *Checkpoint // nil: no files are written
	Restart    string      // folder with the files to begin with, "" to begin anew
	Sched      string
	Check      bool
	Direct     bool          // replicas on one host store their results into each other's arrays
	Threads    int           // workers that run the tasks of a process; 0 means 1
	Bind       affinity.Mode // which cores each process gets; "": all
	Program    []string      // name and arguments; a package is built first
	Report     string        // file of the report, "-" for standard error, "" for none
	Trace      string        // file of the timeline, "" for none

	// Watchdog is the command that, with watchdog.Variable in its environment,
	// calls watchdog.Run; without one, what wrapper scripts have started may
	// survive a SIGKILL of this process.
	Watchdog []string `json:"-"`

	Verbose, Quiet bool
	Progress       bool `json:"-"` // standard error is a terminal

	Placement   *job.Placement // on several hosts; nil: all on this one
	RemoteShell string         `json:"-"` // starts a command on {host}
	Fanout      int            // how many agents the head, and each agent, starts; 0: DefaultFanout
	HeadAddress string         // where agents reach the head; "": at any address of this host
	Agent       []string       `json:"-"` // the command that calls Serve, at the same path on all hosts
	TLS         bool           // encrypt the connections between hosts
	Indexed     *spawn.Indexed `json:"-"` // the hosts come by themselves; nil: they are started through RemoteShell
	DryRun      bool           // show the placement, start nothing
	// Rarer is for measurements of what beats between hosts cost: they are so
	// many times rarer, and the loss of a host is found so much later. 0: they
	// are as they should be.
	Rarer int `json:"-"`

	Stdin          io.Reader        `json:"-"` // nil: nothing
	Stdout, Stderr io.Writer        `json:"-"`
	Signals        <-chan os.Signal `json:"-"` // nil: none
}

// Run runs the job and returns intrarun's exit code. Everything that there is
// to say goes to the outputs of c.
func Run(ctx context.Context, c Config) int {
	if err := c.validate(); err != nil {
		fmt.Fprintln(c.Stderr, "intrarun:", err)
		return ExitRefused
	}
	if p := c.Placement; p != nil {
		if w := p.Warning(); w != "" && !c.Quiet {
			fmt.Fprintln(c.Stderr, "intrarun: warning:", w)
		}
		if c.DryRun {
			fmt.Fprintf(c.Stdout, "%v%v", p, c.tree())
			return ExitOK
		}
	}
	var w *watchdog.Watchdog
	if len(c.Watchdog) > 0 {
		var err error
		if w, err = watchdog.Start(c.Watchdog); err != nil {
			fmt.Fprintln(c.Stderr, "intrarun:", err)
			return ExitRefused
		}
		defer w.Close()
	}
	program, err := spawn.Resolve(ctx, c.Program[0], c.Signals, w)
	if err != nil {
		fmt.Fprintln(c.Stderr, "intrarun:", err)
		if i, ok := err.(spawn.Interrupted); ok {
			return interruptCode(i.Signal)
		}
		return ExitRefused
	}
	defer program.Remove()
	secret := job.NewSecret()
	if c.Indexed != nil {
		secret = c.Indexed.Secret
	}
	h := newHead(&c, secret)
	if h.files = h.newFiles(); h.files == nil { // else it depends on what there is in them
		h.recovery = h.newRecoveryDriver()
	}
	if h.trace, err = runreport.CreateTimeline(c.Trace, c.Degrees, c.Threads); err != nil {
		fmt.Fprintln(c.Stderr, "intrarun: -trace:", err)
		return ExitRefused
	}
	code := h.run(ctx, program, w)
	h.console.Close()
	return code
}

func newHead(c *Config, secret job.Secret) *head {
	h := &head{
		config:  c,
		console: output.NewConsole(c.Stdout, c.Stderr),
		secret:  secret,
		ledger:  newLedger(c.Degrees),
		members: make(map[job.Process]*member),
		ids:     make(map[job.Process]*member),
		lost:    make(map[agent]bool),
		doubts:  make(map[doubt]bool),
		posts:   make(chan func()),
		done:    make(chan struct{}),
	}
	for _, k := range c.Kills {
		h.kills = append(h.kills, scheduledKill{Kill: k})
	}
	return h
}

// validate finds what is wrong before anything is started.
func (c *Config) validate() error {
	processes := job.Processes(c.Degrees)
	for _, k := range c.Kills {
		if !slices.Contains(processes, k.Process) {
			return fmt.Errorf("-kill %v: the job has no process %v, its degrees are %v", k, k.Process, c.Degrees)
		}
	}
	if c.Report != "" && c.Report != "-" { // not to be found out at the end of a long run
		if st, err := os.Stat(filepath.Dir(c.Report)); err != nil {
			return fmt.Errorf("-report %s: %w", c.Report, err)
		} else if !st.IsDir() {
			return fmt.Errorf("-report %s: %s is not a folder", c.Report, filepath.Dir(c.Report))
		}
	}
	if err := c.validateFiles(); err != nil {
		return err
	}
	if c.Placement != nil {
		return nil // their agents see to that
	}
	return supervise.CheckDescriptors(len(processes) + c.Spares)
}

func (h *head) run(ctx context.Context, program *spawn.Program, w *watchdog.Watchdog) (code int) {
	h.began = time.Now()
	if h.config.Placement == nil {
		here := supervise.New(supervise.Config{Observer: h, Secret: h.secret, Plan: h.plan(program, job.Processes(h.config.Degrees)), Watchdog: w})
		here.Watch(func() bool { return false })
		defer here.Close()
		h.enlist(func(job.Process) (agent, *job.Host) { return here, nil })
		h.reserve(func(int) (agent, *job.Host) { return here, nil })
	} else {
		a := h.agents(program, w)
		defer func() { a.close(h.retired) }()
		remotes, err := a.connect(ctx)
		if err != nil {
			h.console.Notef("intrarun: %v", err)
			if i, ok := err.(spawn.Interrupted); ok {
				return interruptCode(i.Signal)
			}
			return ExitRefused
		}
		h.remotes = remotes
		h.enlist(func(p job.Process) (agent, *job.Host) {
			r := remotes[h.config.Placement.Of[p]]
			return r, r.host
		})
		h.reserve(func(i int) (agent, *job.Host) {
			r := remotes[h.config.Placement.Spares[i]]
			return r, r.host
		})
		hosts, err := h.arbitrate(remotes)
		if err != nil {
			h.console.Notef("intrarun: %v", err)
			return ExitRefused
		}
		defer hosts.close()
		defer func() { h.dismiss(remotes, code) }()
	}
	h.startAll()
	h.startSpares()
	if h.config.Stdin != nil {
		go h.stdin.Run(h.config.Stdin)
	}
	go h.listen(ctx)
	if h.config.Progress {
		go h.showProgress()
	}
	h.after(joinWarning, h.warnMissing)
	h.loop()
	return h.conclude()
}

// dismiss tells the agents that the job is over and how it has ended, or leaves
// them to another head.
func (h *head) dismiss(agents []*remote, code int) {
	for _, r := range agents {
		if h.retired {
			r.leave()
		} else {
			r.end(code)
		}
	}
}

// conclude says how the job ended, and returns the exit code.
func (h *head) conclude() int {
	started := slices.ContainsFunc(h.order, func(m *member) bool { return m.pid != 0 })
	if started && h.phase == released || h.ledger.decided {
		h.warnUnfired()
		h.recovery.warnNone()
	}
	code := h.code()
	h.files.hint(code)
	if err := h.trace.Close(started); err != nil {
		h.console.Notef("intrarun: %v", err)
		if code == ExitOK {
			code = ExitFailed
		}
	}
	if !started {
		return code
	}
	report := h.report(code)
	if h.config.Verbose {
		report.Describe(h.eventf)
	}
	if h.config.Report != "" && !h.reported() {
		if err := report.Write(h.config.Report, h.console.Notef); err != nil {
			h.console.Notef("intrarun: %v", err)
			if code == ExitOK {
				code = ExitFailed
			}
		}
	}
	return code
}

// plan is what the agent of these processes starts.
func (h *head) plan(p *spawn.Program, processes []job.Process) supervise.Plan {
	return supervise.Plan{Path: p.Path(), Args: h.config.Program, Environ: os.Environ(), Stdin: h.config.Stdin != nil,
		Bind: h.config.Bind, Processes: processes}
}

// agents are those of the hosts that the job is placed on.
func (h *head) agents(p *spawn.Program, w *watchdog.Watchdog) *agents {
	a := &agents{config: h.config, console: h.console, watchdog: w, secret: h.secret, hosts: h.config.Placement.Hosts}
	pl, hash := h.plan(p, nil), ""
	if dir, err := os.Getwd(); err == nil { // else it was removed, and the agents' own has to do
		pl.Dir = dir
	}
	if p.Built() {
		a.program = p.Path()
		hash = spawn.Hash(a.program)
	}
	a.order = func(i int) agentd.StartPlan {
		of := pl
		of.Processes = h.config.Placement.On(i)
		return agentd.StartPlan{Plan: of, Processes: len(of.Processes) + h.config.Placement.SparesOn(i), Hash: hash}
	}
	return a
}

// enlist makes the list of all processes, each with its place.
func (h *head) enlist(place func(job.Process) (agent, *job.Host)) {
	for rank, degree := range h.config.Degrees {
		together := output.NewRank(h.console, degree)
		for replica := range degree {
			p := job.Process{Rank: rank, Replica: replica}
			m := &member{process: p, id: p, incarnation: firstIncarnation, outputs: output.NewProcess(p, together)}
			m.agent, m.host = place(p)
			m.listen = h.listenAt(m.agent)
			h.members[p] = m
			h.enroll(m)
		}
	}
}

// listenAt is where the processes of an agent listen for links over TCP, "" if
// they need not.
func (h *head) listenAt(a agent) string {
	switch far := h.config.Placement; {
	case far != nil && (h.config.Link == job.LinkTCP || len(far.Hosts) > 1):
		return net.JoinHostPort(a.(*remote).listen, "0")
	case h.config.Link == job.LinkTCP:
		return "127.0.0.1:0"
	}
	return ""
}

// enroll puts a process on the list of all.
func (h *head) enroll(m *member) {
	h.ids[m.id] = m
	h.writers.Store(m.id, m.outputs)
	h.order = append(h.order, m)
	h.left++
}

// startAll starts all processes.
func (h *head) startAll() {
	for _, m := range h.order {
		if m.spare {
			continue
		}
		m.agent.Start(m.id, supervise.First)
		if h.config.Stdin != nil && m.process.Rank == 0 {
			h.stdin.Add(func(b []byte) { m.agent.Feed(m.id, b) })
		}
	}
}

// listen hands signals, and the end of ctx as one, to the head.
func (h *head) listen(ctx context.Context) {
	end := ctx.Done()
	for {
		select {
		case s := <-h.config.Signals:
			h.post(func() { h.interrupt(s) })
		case <-end:
			end = nil
			h.post(func() { h.interrupt(terminate) })
		case <-h.done:
			return
		}
	}
}

// warnMissing tells who keeps the job from beginning. It may be a program that
// takes its time, so it is no reason to end the job.
func (h *head) warnMissing() {
	if h.phase != joining {
		return
	}
	for _, m := range h.order {
		if !m.gone && m.hello == nil {
			h.warnf("%s has not joined the job after %v: is it a program that calls intra.Main?", m.name(), joinWarning)
		}
	}
}

// reported: this head has retired, and another one has written the report.
func (h *head) reported() bool {
	st, err := os.Stat(h.config.Report)
	return h.retired && err == nil && st.ModTime().After(h.began)
}

func (h *head) code() int {
	if h.ledger.decided {
		return h.ledger.code
	}
	return ExitOK
}
