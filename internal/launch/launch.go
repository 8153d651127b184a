package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/listen"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch/livepage"
	"github.com/intrahpc/intra/internal/timeline"
)

// Run runs the job and returns intrarun's exit code. All messages go to the
// outputs of c.
func Run(ctx context.Context, c Config) (code int) {
	if err := c.validate(); err != nil {
		fmt.Fprintln(c.Stderr, "intrarun:", err)
		return ExitRefused
	}
	if c.Warning != "" && !c.Quiet {
		fmt.Fprintln(c.Stderr, "intrarun: warning:", c.Warning)
	}
	if p := c.Placement; p != nil {
		if w := p.Warning(); w != "" && !c.Quiet {
			fmt.Fprintln(c.Stderr, "intrarun: warning:", w)
		}
		if c.DryRun {
			if _, err := fmt.Fprintf(c.Stdout, "%v%v", p, c.tree()); err != nil {
				fmt.Fprintln(c.Stderr, "intrarun: show the placement:", err)
				return ExitFailed
			}
			return ExitOK
		}
	} else if w := crowded(c.Degrees, c.Threads, runtime.NumCPU()); w != "" && !c.Quiet {
		fmt.Fprintln(c.Stderr, "intrarun: warning:", w)
	}
	if c.Links.MPIBetween && len(c.Placement.Hosts) == 1 && !c.Quiet {
		fmt.Fprintf(c.Stderr, "intrarun: warning: all processes are on one host, where their links are %s: nothing goes over the MPI library (-link mpi: everything)\n", c.Links.Kind)
	}
	if w := unmatched(c.Degrees, c.Verify); w != "" && !c.Quiet {
		fmt.Fprintln(c.Stderr, "intrarun: warning:", w)
	}
	for _, clone := range c.Clones {
		if rank := clone.Process.Rank; c.Degrees[rank] == 1 && !c.Quiet {
			fmt.Fprintf(c.Stderr, "intrarun: warning: -clone %v: rank %d has one replica, so all wait for it\n", clone, rank)
		}
	}
	for _, f := range c.Faults.Flips {
		if w := unseen(f, c.Verify); w != "" && !c.Quiet {
			fmt.Fprintln(c.Stderr, "intrarun: warning:", w)
		}
	}
	to, err := c.openFiles()
	if err != nil {
		fmt.Fprintln(c.Stderr, "intrarun:", err)
		return ExitRefused
	}
	defer to.close()
	c.Name = strings.Join(append([]string{filepath.Base(c.Program[0])}, c.Program[1:]...), " ")
	folder, err := c.holdFolder()
	if err != nil {
		fmt.Fprintln(c.Stderr, "intrarun:", err)
		return ExitRefused
	}
	defer func() { folder.release(code) }()
	var w *watchdog.Watchdog
	if len(c.Watchdog) > 0 {
		words, _ := c.Stderr.(*os.File) // the watchdog can inherit only a file
		if w, err = watchdog.Start(c.Watchdog, words); err != nil {
			fmt.Fprintln(c.Stderr, "intrarun:", err)
			return ExitRefused
		}
		defer w.Close()
	}
	program, err := spawn.Resolve(ctx, c.Program[0], c.tags(), c.Signals, w)
	if err != nil {
		fmt.Fprintln(c.Stderr, "intrarun:", err)
		return ExitCode(err)
	}
	defer program.Remove()
	console := output.NewConsole(c.Stdout, c.Stderr)
	defer func() { code = closed(console, code) }()
	d := newDriver(&c.Job, console, time.Now())
	d.trace, d.reportTo = timeline.New(to.trace, c.TraceLimit, c.Degrees), to.report
	d.watchdog, d.folder = w, folder
	if c.Page != nil {
		if d.page, err = livepage.Listen(*c.Page, d.described()); err != nil {
			return d.refuse(err)
		}
		defer d.page.Close()
		d.pageAt(d.page.Address(), "")
	}
	if c.Placement == nil {
		return d.runHere(ctx, &c, program, w)
	}
	return d.runThere(ctx, &c, program, w)
}

// closed closes the console, and returns the exit code of a job that ends with code. If output
// was lost, the job has failed.
func closed(console *output.Console, code int) int {
	console.Close()
	if code == ExitOK && console.Lost() != nil {
		return ExitFailed
	}
	return code
}

// runHere runs the job on this host.
func (d *driver) runHere(ctx context.Context, c *Config, program *spawn.Program, w *watchdog.Watchdog) int {
	address := ""
	if c.Links.Kind == job.LinkTCP {
		var err error
		if address, err = listen.Loopback(); err != nil {
			return d.refuse(fmt.Errorf("-link tcp: %w", err))
		}
	}
	at := head.Node{ID: agentOf(0), Name: hostname("localhost"), Listen: c.listenAt(address)}
	here := newLocal(&reporter{d, at.ID}, supervise.Config{Secret: job.NewSecret(), Plan: c.plan(program, job.Processes(c.Degrees)), Watchdog: w})
	defer here.Close()
	d.agents.add(at.ID, here)
	d.here, d.suspend = here, c.Suspend
	hc := c.head([]head.Node{at})
	hc.Self, hc.Home, hc.FirstHost = head.FirstHead, at.ID, at.Name
	hc.Drain, hc.Grace = c.Drain, c.Grace
	d.head = head.New(hc)
	d.run(ctx, c)
	return d.conclude()
}

// runThere runs the job on the hosts of its placement.
func (d *driver) runThere(ctx context.Context, c *Config, program *spawn.Program, w *watchdog.Watchdog) int {
	secret, secretFile, err := c.secret()
	if err != nil {
		return d.refuse(err)
	}
	a := d.newAgents(c, secret, program, w)
	goesOn := false
	defer func() { a.close(goesOn) }()
	remotes, err := a.connect(ctx)
	if err != nil {
		return d.refuse(err)
	}
	hosts, err := d.arbitrate(c, secret, remotes)
	if err != nil {
		return d.refuse(err)
	}
	defer hosts.close()
	d.joinBy = c.joinCommand(secretFile, a.reached)
	if d.joinBy != "" {
		a.gate.Store(hosts)
		d.gate = a
		d.say(head.Log{Level: head.Detail, Text: "another host joins by: " + d.joinBy})
	}
	d.run(ctx, c)
	if d.head.Code() == ExitHandedOver {
		code := hosts.relay(ctx, c)
		goesOn = code == ExitHandedOver
		return code
	}
	code := d.conclude()
	hosts.dismiss(code)
	goesOn = d.head.Summary().Retired
	return code
}

// refuse prints why the job does not begin, and returns the exit code.
func (d *driver) refuse(why error) int {
	d.console.Notef("intrarun: %v", why)
	_, _ = d.trace.Close(false) // the timeline is empty, so no error matters
	return ExitCode(why)
}

// run runs the head until it has nothing left to do.
func (d *driver) run(ctx context.Context, c *Config) {
	if c.Stdin != nil {
		go d.feed(c.Stdin)
	}
	var stops <-chan os.Signal
	if c.Stops != nil {
		stops = c.Stops()
	}
	go d.listen(ctx, c.Signals, c.Asks, stops)
	d.step(head.Begin{})
	d.loop(c.Width)
}

// tags returns the build tags of the program.
func (c *Config) tags() []string {
	if c.Links.MPI {
		return []string{"intra", "mpi"}
	}
	return []string{"intra"}
}

// plan returns the agent's plan for the given processes.
func (c *Config) plan(p *spawn.Program, processes []job.Process) supervise.Plan {
	return supervise.Plan{Path: p.Path(), Args: c.Program, Environ: os.Environ(), Stdin: c.Stdin != nil, Keep: c.admits(), MPI: c.Links.MPI, Bind: c.Bind, Link: c.Links.Kind, Ring: c.Links.Ring, Processes: processes, Clones: c.Clones}
}

// newAgents returns the agents of the job's hosts.
func (d *driver) newAgents(c *Config, secret job.Secret, p *spawn.Program, w *watchdog.Watchdog) *agents {
	a := &agents{config: c, console: d.console, watchdog: w, secret: secret, hosts: c.Placement.Hosts}
	pl, hash := c.plan(p, nil), ""
	if dir, err := os.Getwd(); err == nil { // if the folder was removed, the agents use their own
		pl.Dir = dir
	}
	if p.Built() {
		a.program = p.Path()
		hash = spawn.Hash(a.program)
	}
	a.plan = func(processes []job.Process, spares int) agentd.StartPlan {
		of := pl
		of.Processes = processes
		return agentd.StartPlan{Plan: of, Processes: len(of.Processes) + spares, Link: c.Links.Kind, Hash: hash}
	}
	return a
}

// unmatched returns a warning if the tasks of a rank are compared only with their own reruns.
// Otherwise it returns "".
func unmatched(degrees []int, v *job.Verification) string {
	rank := slices.Index(degrees, 1)
	if v == nil || v.Share == 0 || rank < 0 {
		return ""
	}
	return fmt.Sprintf("rank %d has one replica, which runs sampled tasks twice: -sdc can find only faults there that do not repeat", rank)
}

// unseen returns a warning if no check can detect an injected fault. Otherwise it returns "".
func unseen(f job.Flip, v *job.Verification) string {
	mode := ""
	switch f.Point {
	case job.FlipTask:
		if v == nil || v.Share == 0 {
			mode = "dual"
		}
	case job.FlipMessage:
		if v == nil {
			mode = "sample"
		}
	case job.FlipUpdate, job.FlipState:
		if v == nil || v.State == 0 {
			mode = "state"
		}
	}
	if mode == "" {
		return ""
	}
	return fmt.Sprintf("no check can detect -fault %s: give -sdc %s, too", f.Fault(), mode)
}

// crowded returns a warning if the processes have more computing threads than this host has
// cores. Otherwise it returns "".
func crowded(degrees []int, threads, cores int) string {
	processes := 0
	for _, d := range degrees {
		processes += d
	}
	if processes*threads <= cores {
		return ""
	}
	what := "processes"
	if threads > 1 {
		what = fmt.Sprintf("processes with %d workers each", threads)
	}
	return fmt.Sprintf("%d %s on %d cores: they take turns, so times say nothing about sharing", processes, what, cores)
}
