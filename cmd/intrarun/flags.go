//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/affinity"
	"github.com/intrahpc/intra/internal/counters"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch"
	"github.com/intrahpc/intra/internal/launcher"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/spawn"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/internal/vary"
	"github.com/intrahpc/intra/transport/limit"
)

const usage = `usage: intrarun [flags] PROGRAM [args]

Runs PROGRAM as a job of N ranks with R replicas each. If PROGRAM is
an executable file (without a slash also one in PATH), it is run; otherwise it is
built as a Go package with the build tag intra.

  intrarun status [-json] [JOB]   says what each process of a job does that runs
                                  from this host; JOB is the process ID of intrarun
  intrarun report FILE [FILE2]    prints a report of -report, or compares two

SIGQUIT (Ctrl-\) has intrarun print the status too. A program with the name status or
report is called ./status.

`

// parse reads the command line, without the name of the command.
func parse(args []string, out io.Writer) (*launch.Config, error) {
	c := &launch.Config{Stdin: os.Stdin}
	fs := flag.NewFlagSet("intrarun", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // our caller says what is wrong, once
	n := fs.Int("n", 1, "number of logical `ranks`")
	r := fs.Int("r", 2, "`replicas` of each rank")
	degrees := fs.String("degrees", "", "replicas of each rank, one number per rank, like `2,1,2`")
	link := fs.String("link", job.LinkAuto, "`kind` of link between processes of one host: auto, shm, unix or tcp; with -mpi messages\nbetween them go over such a link only if this is given")
	fs.BoolVar(&c.MPI, "mpi", false, "send messages over the MPI library of the launcher, mpirun, mpiexec or srun, that has started\nintrarun once for each process of the job; PROGRAM is built with the tags intra and mpi")
	ring := size(job.DefaultRing)
	fs.Var(&ring, "ring", "`size` of a shared-memory ring, 4K to 1G, rounded up to a power of two")
	fs.Func("limit", "let each link carry no more than `BANDWIDTH` in each direction, like 2.5GB/s", func(s string) error {
		r, err := limit.ParseRate(s)
		c.Limit = float64(r)
		return err
	})
	fs.Func("kill", "kill a process (SIGKILL) at a point of its execution, `RANK.REPLICA@WHEN`;\nWHEN is a duration, section:K, task:K, update:K, message:K or link:K\n(a new link, in jobs of more than 8 processes), or a step of recovery,\njoin:STEP or backup:STEP; repeatable", func(s string) error {
		k, err := job.ParseKill(s)
		c.Kills = append(c.Kills, k)
		return err
	})
	fs.Func("weibull", "kill processes at random, `shape=S,mtbf=T`: the times between failures of the job follow\na Weibull distribution with that shape and mean, like shape=0.7,mtbf=20s", func(s string) (err error) {
		c.Weibull, err = launch.ParseWeibull(s)
		return err
	})
	seed := fs.Uint64("seed", 1, "seed of the kills of -weibull, and of the choices of -sdc and -vary, a `number`")
	fs.Func("sdc", "find wrong results of tasks: a share of the tasks is run by all replicas of a rank, which\ncompare what comes of them, and what they send, `MODE`: sample=P, like sample=1%; sample, which is 1%; dual,\nall tasks; state, the registered state at each safe point, or state=N at each Nth; or two of them,\nlike dual,state; off (default off)", func(s string) (err error) {
		c.Verify, err = job.ParseVerification(s)
		return err
	})
	fs.Func("flip", "turn one bit of what a task has written, of what is received of a task that another replica has\nrun, of a message to another rank, or of the registered state at a safe point, `RANK.REPLICA@WHAT:N[:BIT]`,\nWHAT: task, update, message or state, counted from 0; repeatable", func(s string) error {
		f, err := job.ParseFlip(s)
		c.Flips = append(c.Flips, f)
		return err
	})
	fs.Func("defect", "turn a bit of what tasks have written again and again, each time with that probability,\n`RANK.REPLICA,q=RATE`, like 0.1,q=1e-3; repeatable", func(s string) error {
		f, err := job.ParseDefect(s)
		c.Flips = append(c.Flips, f)
		return err
	})
	fs.Func("vary", "say how many digits of the registered variables mean something: run several sets of processes, all\nbut the first disturbed, and compare them at safe points, `SPEC`: sets=N and bits=P, the last\nbit of a share of the numbers that tasks write, order, their results added in another order, or state=EPS\nor state:NAME=EPS, variables at the first safe point; like sets=4,bits=1%; with every=N or\nsize=BYTES; needs -r 1, the default then", func(s string) error {
		spec, err := vary.Parse(s)
		if err == nil {
			c.Vary = &vary.Run{Spec: *spec}
		}
		return err
	})
	fs.Func("backup", "keep a copy of the state of each rank in the memory of another rank, renewed every `K`\nsafe points, or with auto as often as it pays; the job goes back to it when a rank has\nlost all its replicas (needs -replace or -spares)", func(s string) (err error) {
		c.Backup, err = recovery.ParsePolicy(s)
		return err
	})
	fs.IntVar(&c.Spares, "spares", 0, "`number` of processes that wait to replace lost ones, on hosts with free slots")
	fs.BoolVar(&c.Replace, "replace", false, "replace each lost process with a new one, which joins at a safe point of the program\nwith the state of a live replica")
	dir := fs.String("checkpoint", "", "write the state of the job to files in `DIR`, which all hosts share: at safe points of\nthe program, in the background; the last two sets are kept")
	every := fs.Uint64("checkpoint-every", 10, "write a set of files every `K` safe points")
	fs.StringVar(&c.Restart, "restart", "", "continue from the newest usable set of files in `DIR`, with any degrees, or from that set\nif DIR is the folder of one")
	fs.BoolVar(&c.Anyway, "restart-anyway", false, "continue also if the set is of another program, or of this one with other arguments")
	c.Direct = job.DirectAuto
	fs.Var((*direct)(&c.Direct), "direct", "let replicas on one host store their results into each other's arrays (made by intra.Alloc)\ninstead of sending them, `WHEN`: auto, where that takes less time; on, or no value, wherever\nthey can; off (default auto)")
	fs.IntVar(&c.Threads, "threads", 1, "`workers` of each process, which run its tasks in parallel (one at a time with -check)")
	c.Bind = affinity.Auto
	fs.Func("bind", "bind the processes of a host to its cores, `HOW`: auto, each to its own share if there\nare enough cores; core, also if cores have to be shared, but not by replicas of one\nrank; none (default auto)", func(s string) error {
		m, err := affinity.ParseMode(s)
		c.Bind = m
		return err
	})
	fs.Func("stdin", "`WHOM` standard input is for: 0, the replicas of rank 0; none, so that what reads it around\nintrarun keeps it, like a loop in a shell script (default 0)", func(s string) error {
		if s != "0" && s != "none" {
			return errors.New("want 0 or none")
		}
		if c.Stdin = os.Stdin; s == "none" {
			c.Stdin = nil
		}
		return nil
	})
	fs.StringVar(&c.Sched, "sched", "", "`schedule` of every section: static, adaptive or replicate")
	fs.BoolVar(&c.Check, "check", false, "checked mode: find wrong clauses and diverging replicas")
	fs.Func("clone", "start a process by a tool, `RANK.REPLICA=COMMAND`, like '0.1=strace -f -o trace': as COMMAND\nPROGRAM ARGS, or with the program in the place of {program}; repeatable", func(s string) error {
		clone, err := job.ParseClone(s)
		c.Clones = append(c.Clones, clone)
		return err
	})
	fs.Func("counters", "count while tasks run, `LIST`: like cycles,instructions,cache-misses,page-faults,task-clock;\nthe replicas of a rank count different ones, and the report has all", func(s string) (err error) {
		c.Counters, err = counters.Parse(s)
		return err
	})
	fs.StringVar(&c.Report, "report", "", "write a JSON report to `FILE`, - for standard error")
	fs.StringVar(&c.Trace, "trace", "", "write a timeline to `FILE` in Chrome's trace format, which ui.perfetto.dev opens")
	traceLimit := size(timeline.DefaultLimit)
	fs.Var(&traceLimit, "trace-limit", "largest `size` of that file, like 64M; the oldest events are left out")
	hosts := fs.String("hosts", "", "run on these `hosts`, each with a number of slots, like h1:2,h2:2 or n[01-04]:2;\nlocalhost is this one")
	hostfile := fs.String("hostfile", "", "run on the hosts of `FILE`: one per line, h1 slots=2 rack=a addr=10.0.0.1")
	alone := fs.Bool("alone", false, "take no notice of variables of mpirun, mpiexec and srun, which are in the environment of whatever\nthey start, like a shell under srun --pty; -alone=false: they have started intrarun several\ntimes, wait for the others (default: by the processes of this host)")
	fs.StringVar(&c.RemoteShell, "rsh", "", "`command` that starts another command on {host} (default: ssh {host}, in a Slurm allocation srun)")
	fs.IntVar(&c.Fanout, "fanout", spawn.DefaultFanout, "`number` of hosts that this one starts; with more hosts, each of those starts as many\nothers, and so on")
	fs.StringVar(&c.HeadAddress, "head", "", "`address` of this host that the other hosts use (default: any of its addresses)")
	fs.BoolVar(&c.TLS, "tls", false, "encrypt the connections between hosts")
	oversubscribe := fs.Bool("oversubscribe", false, "allow more processes on a host than it has slots")
	strict := fs.Bool("strict-placement", false, "refuse to run replicas of a rank on one host")
	dry := fs.Bool("dry-run", false, "show where the processes would run, and exit")
	c.Stuck.After = launch.DefaultStuck
	fs.Func("stuck", "tell of processes that wait for each other and have made no progress for so long,\n`DURATION`; off: do not; abort: end the job then (default 30s)", func(s string) error {
		return setStuck(&c.Stuck, s)
	})
	c.Endless = launch.DefaultEndless
	fs.Func("endless", "kill a replica that makes no progress for `DURATION` while every rank has finished in another\nreplica: no section, task, message, safe point, Once or output; off: wait for it\n(default 1m)", func(s string) (err error) {
		if c.Endless = 0; s == "off" {
			return nil
		}
		if c.Endless, err = time.ParseDuration(s); err != nil || c.Endless < leastStuck {
			return fmt.Errorf("want a duration of at least %v like 60s, or off", leastStuck)
		}
		return nil
	})
	fs.Func("status-every", "print what each process does every `DURATION`, on standard error", func(s string) (err error) {
		if c.Status, err = time.ParseDuration(s); err == nil && c.Status < leastStatus {
			err = fmt.Errorf("want at least %v", leastStatus)
		}
		return err
	})
	page := fs.String("http", "", "serve a page at `ADDR` on which the job can be watched, /metrics for Prometheus and\n/status.json; :8080 is for users of this host, other addresses need a token")
	token := fs.String("http-token", "", "`token` that the page of -http asks for, @FILE for the contents of a file, so that ps does not\nshow it (default: "+tokenVariable+" in the environment; else on other addresses one is made, and printed)")
	fs.BoolVar(&c.Verbose, "v", false, "report events as they happen")
	fs.Bool("version", false, "print the version of intrarun, and exit")
	fs.BoolVar(&c.Quiet, "quiet", false, "print only the program's output")
	if err := fs.Parse(joinDirect(fs, args)); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(out, usage)
			fs.SetOutput(out)
			fs.PrintDefaults()
		}
		return nil, err
	}
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })

	if c.Vary != nil {
		if err := checkVaried(given, r); err != nil {
			return nil, err
		}
		if c.Vary.Seed = *seed; !given["seed"] {
			c.Vary.Seed = rand.Uint64() >> 16 // that people can type
		}
	}
	if given["version"] {
		return nil, errors.New("-version is given alone")
	}
	if fs.NArg() == 0 {
		return nil, errors.New("no program given: usage is intrarun [flags] PROGRAM [args]")
	}
	if c.Threads < 1 || c.Threads > maxThreads {
		return nil, fmt.Errorf("-threads %d: want 1 to %d workers of each process", c.Threads, maxThreads)
	}
	if ring < minRing || ring > maxRing {
		return nil, fmt.Errorf("-ring %v: want 4K to 1G", &ring)
	}
	if c.Check {
		c.Threads = 1
		if c.Replace || c.Spares > 0 {
			return nil, errors.New("-check replaces no processes: leave out -replace and -spares")
		}
	}
	if c.Spares < 0 || c.Spares > maxProcesses {
		return nil, fmt.Errorf("-spares %d: want 0 or more processes", c.Spares)
	}
	if given["backup"] && !c.Replace && c.Spares == 0 {
		return nil, errors.New("-backup needs replacements for lost processes: give -replace or -spares N")
	}
	switch {
	case given["trace-limit"] && c.Trace == "":
		return nil, errors.New("-trace-limit is for -trace: give both")
	case traceLimit < timeline.LeastLimit:
		return nil, fmt.Errorf("-trace-limit %v: want at least %dM", &traceLimit, timeline.LeastLimit>>20)
	}
	c.TraceLimit = int64(traceLimit)
	c.Program, c.Ring = fs.Args(), int(ring)
	if c.Program[0] == "" {
		return nil, errors.New("the name of the program is empty")
	}
	if c.Verbose && c.Quiet {
		return nil, errors.New("-v and -quiet contradict each other: give one")
	}
	switch {
	case c.Weibull != nil:
		c.Weibull.Seed = *seed
	case given["seed"] && c.Verify == nil && c.Vary == nil:
		return nil, errors.New("-seed is for -weibull, -sdc and -vary: give one of them too")
	}
	if c.Verify != nil {
		if c.Check {
			return nil, errors.New("-check compares all tasks itself: leave out -sdc")
		}
		if c.Verify.Seed = *seed; !given["seed"] {
			c.Verify.Seed = rand.Uint64()
		}
	}
	switch {
	case given["checkpoint"] && *dir == "":
		return nil, errors.New("-checkpoint is empty: want a folder")
	case given["restart"] && c.Restart == "":
		return nil, errors.New("-restart is empty: want a folder with checkpoint files")
	case c.Anyway && c.Restart == "":
		return nil, errors.New("-restart-anyway needs -restart")
	case *every == 0:
		return nil, errors.New("-checkpoint-every 0: want at least 1 safe point")
	case given["checkpoint"]:
		c.Checkpoint = &head.Checkpoint{Dir: *dir, Every: *every}
	case given["checkpoint-every"]:
		return nil, errors.New("-checkpoint-every is for -checkpoint: give both")
	}
	var err error
	switch {
	case given["http"]:
		if c.Page, err = pageAddress(*page, *token, given["http-token"]); err != nil {
			return nil, err
		}
	case given["http-token"]:
		return nil, errors.New("-http-token is for -http: give both")
	}
	if c.Degrees, err = resolveDegrees(given, *n, *r, *degrees); err != nil {
		return nil, err
	}
	if v := c.Verify; v != nil && (v.Share == 1 || v.State > 0) {
		mode := "dual"
		if v.State > 0 {
			mode = "state"
		}
		if rank := slices.Index(c.Degrees, 1); rank >= 0 {
			return nil, fmt.Errorf("-sdc %s: rank %d has one replica, which has nobody to compare with: give it two, or -sdc sample=P", mode, rank)
		}
	}
	if given["backup"] && len(c.Degrees) < 2 {
		return nil, errors.New("-backup: with one rank there is no other rank to hold its state: leave -backup out, or give -n")
	}
	processes := 0
	for _, d := range c.Degrees {
		processes += d
	}
	if !c.MPI {
		processes = 0
	}
	var isAlone *bool // nil: it shows
	if given["alone"] {
		isAlone = alone
	}
	started, err := findLauncher(isAlone, func(text string) {
		if !c.Quiet {
			fmt.Fprintln(out, "intrarun:", text)
		}
	})
	if err != nil {
		return nil, err
	}
	around, err := findHosts(started, *hosts, *hostfile, c.HeadAddress, processes)
	if err != nil {
		return nil, err
	}
	if c.Vary != nil && around.hosts != nil {
		return nil, errors.New("-vary runs all sets on this host, and there are others: run it outside the allocation or the launcher")
	}
	c.Indexed, c.Warning = around.indexed, around.warning
	if c.RemoteShell == "" {
		c.RemoteShell = around.rsh
	}
	if around.hosts != nil {
		if c.Placement, err = job.Place(c.Degrees, around.hosts, *oversubscribe); err != nil {
			return nil, err
		}
		if err = c.Placement.Reserve(c.Spares, around.hosts, *oversubscribe); err != nil {
			return nil, err
		}
		if c.Replace {
			c.Placement.Keep(around.hosts)
		}
	}
	if given["fanout"] && c.Placement != nil {
		if err := c.CheckFanout(); err != nil {
			return nil, err
		}
	}
	switch p := c.Placement; {
	case p == nil:
		for _, name := range []string{"rsh", "fanout", "head", "tls", "oversubscribe", "strict-placement", "dry-run"} {
			if given[name] {
				return nil, fmt.Errorf("-%s is for jobs on several hosts: give -hosts or -hostfile", name)
			}
		}
	case *strict && len(p.Together) > 0:
		return nil, fmt.Errorf("-strict-placement: %s", p.Warning())
	}
	if c.MPI && c.TLS {
		return nil, errors.New("-tls does not encrypt what goes over MPI: leave out one of -tls and -mpi")
	}
	if c.MPI && len(c.Clones) > 0 {
		return nil, errors.New("-clone is not for processes that an MPI library connects: leave out one of -clone and -mpi")
	}
	c.DryRun = *dry
	switch c.Link = *link; c.Link {
	case job.LinkAuto:
		c.Link = job.LinkSHM
	case job.LinkSHM, job.LinkUnix, job.LinkTCP:
	default:
		return nil, fmt.Errorf("-link %q: want auto, shm, unix or tcp", c.Link)
	}
	c.MPIBetween = c.MPI && given["link"]
	switch c.Sched {
	case "static", "adaptive", "replicate":
	case "":
		if given["sched"] {
			return nil, errors.New("-sched is empty: want static, adaptive or replicate")
		}
	default:
		return nil, fmt.Errorf("-sched %q: want static, adaptive or replicate", c.Sched)
	}
	if len(c.Clones) > 0 && c.Sched == "static" {
		return nil, errors.New("-sched static has all wait for the tasks of a -clone: leave out one of them")
	}
	var against error // what leaves no room for stores
	switch {
	case c.Check:
		against = errors.New("-check compares what each replica computes itself: leave out -direct")
	case c.Limit > 0:
		against = errors.New("-direct bypasses the links that -limit slows down: leave out one of them")
	case c.Sched == "static" || c.Sched == "replicate":
		against = fmt.Errorf("-direct needs the adaptive schedule: leave out -direct or -sched %s", c.Sched)
	case c.MPI && !c.MPIBetween:
		against = errors.New("-direct bypasses the MPI library: leave out -direct, or add -link shm, with which the library is used between hosts only")
	case len(c.Clones) > 0:
		against = errors.New("-direct has replicas wait for each other at each section, so for a -clone too: leave out one of them")
	case c.Link == job.LinkTCP:
		against = errors.New("-direct needs replicas on one host that do not use -link tcp: leave out one of them")
	}
	if against != nil {
		if c.Direct == job.DirectOn {
			return nil, against
		}
		c.Direct = job.DirectOff
	}
	return c, nil
}

// surroundings are the hosts that the command line or the environment names.
type surroundings struct {
	hosts   []job.Host     // nil: only this one
	rsh     string         // what starts a command on one of them
	indexed *spawn.Indexed // they come by themselves
	warning string         // of the launcher that they come from; "": none
}

// findHosts finds the hosts. started is what a launcher makes of this process, nil if
// none has started it; mpi is how many processes are to be those of an MPI launcher, 0
// without -mpi.
func findHosts(started *launcher.Process, list, file, head string, mpi int) (s surroundings, err error) {
	s.rsh = "ssh {host}"
	if mpi > 0 {
		if err := checkMPI(started, mpi); err != nil {
			return s, err
		}
	}
	switch {
	case started != nil && list+file != "":
		return s, fmt.Errorf("%s has started %d processes, and the job runs where they are: leave out -hosts and -hostfile", started.Launcher, started.Size)
	case list != "" && file != "":
		return s, errors.New("-hosts and -hostfile contradict each other: give one")
	case list != "":
		if s.hosts, err = job.ParseHosts(list); err != nil {
			return s, fmt.Errorf("-hosts: %w", err)
		}
	case file != "":
		f, err := os.Open(file)
		if err != nil {
			return s, fmt.Errorf("-hostfile: %w", err)
		}
		defer f.Close()
		if s.hosts, err = job.ParseHostfile(file, f); err != nil {
			return s, fmt.Errorf("-hostfile: %w", err)
		}
	default:
		if s.indexed, err = spawn.FindIndexed(os.Getenv); err != nil {
			return s, fmt.Errorf("inside an indexed job: %w", err)
		}
		if s.indexed == nil && started != nil {
			if s.indexed, err = meet(started, head); err != nil {
				return s, err
			}
			s.warning = started.Warning(len(s.indexed.Hosts), mpi > 0)
		}
		if s.indexed != nil {
			s.hosts = s.indexed.Hosts
			return s, nil
		}
		if s.hosts, err = job.SlurmHosts(os.Getenv); err != nil {
			return s, fmt.Errorf("inside a Slurm allocation: %w", err)
		}
		s.rsh = job.SlurmShell
	}
	return s, nil
}

// leastStatus and leastStuck are the shortest times that make sense: processes say
// ten times a second what they do, and after a second that they wait.
const leastStatus, leastStuck = 100 * time.Millisecond, 2 * time.Second

// setStuck sets one of the things that -stuck says: it may be given twice, with a
// time and with abort.
func setStuck(c *launch.Stuck, s string) error {
	switch s {
	case "off":
		*c = launch.Stuck{}
		return nil
	case "abort":
		c.Abort = true
		if c.After == 0 { // off stood before it
			c.After = launch.DefaultStuck
		}
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < leastStuck {
		return fmt.Errorf("want a duration of at least %v like 30s, off or abort", leastStuck)
	}
	c.After = d
	return nil
}

// maxThreads is as many as the cores of large hosts.
const maxThreads = 512

// Rings are whole pages; two of them for each pair of processes of a host have to
// fit its memory.
const minRing, maxRing = 4 << 10, 1 << 30

// maxProcesses is far beyond what one host can run, and small enough to count.
const maxProcesses = 1 << 16

func resolveDegrees(given map[string]bool, n, r int, list string) ([]int, error) {
	if !given["degrees"] {
		switch {
		case n < 1:
			return nil, fmt.Errorf("-n %d: want at least 1 rank", n)
		case r < 1:
			return nil, fmt.Errorf("-r %d: want at least 1 replica per rank", r)
		case n > maxProcesses/r:
			return nil, fmt.Errorf("-n %d with %d replicas each: more than %d processes", n, r, maxProcesses)
		}
		return job.Spec{Ranks: n, Replicas: r}.Resolve()
	}
	if given["r"] {
		return nil, errors.New("-degrees and -r contradict each other: give one")
	}
	var degrees []int
	sum := 0
	for s := range strings.SplitSeq(list, ",") {
		d, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || d < 1 {
			return nil, fmt.Errorf("-degrees %s: %q is not a number of replicas, want numbers from 1 like 2,1,2", list, s)
		}
		if sum += min(d, maxProcesses+1); sum > maxProcesses {
			return nil, fmt.Errorf("-degrees %s: more than %d processes", list, maxProcesses)
		}
		degrees = append(degrees, d)
	}
	if given["n"] && n != len(degrees) {
		return nil, fmt.Errorf("-n %d, but -degrees %s is for %d ranks: leave -n out", n, list, len(degrees))
	}
	return job.Spec{Degrees: degrees}.Resolve()
}
