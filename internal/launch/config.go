package launch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch/livepage"
	"github.com/intrahpc/intra/internal/recovery"
)

// Exit codes of intrarun.
const (
	ExitOK      = head.ExitOK
	ExitFailed  = head.ExitFailed
	ExitRefused = head.ExitRefused
	ExitLost    = head.ExitLost

	ExitHandedOver  = head.ExitHandedOver
	ExitInterrupted = head.ExitInterrupted
)

// Job is the configuration that every head of a job uses, the first one and its
// successors.
type Job struct {
	Name    string // the program and its arguments
	Degrees []int  // the most replicas of each rank
	Least   []int  // the fewest replicas of each rank; nil: as many as Degrees
	Links   Links
	Faults  Faults
	Clones  []job.Clone       // processes that a tool starts
	Verify  *job.Verification // nil: no task is compared
	Diverge job.Diverge       // reaction to replicas that differ; "": replicas are not compared
	Replace bool              // new processes replace lost ones
	Spares  int               // number of processes that wait to replace lost ones
	Backup  recovery.Policy
	Folders Folders

	Sched      string
	Lag        time.Duration // see job.Setup
	Check      bool
	Counters   []string // events counted while tasks run
	Direct     job.Direct
	Threads    int    // number of workers that run the tasks of a process; 0 means 1
	Report     string // file of the report; "-" for standard error, "" for none
	Trace      string // file of the timeline, "" for none
	TraceLimit int64  // maximum size of that file in bytes; 0: timeline.DefaultLimit
	Stuck      Stuck
	Endless    time.Duration     // see head.Config
	Status     time.Duration     // interval of status reports; 0: none
	Page       *livepage.Address // address of the live page; nil: there is none
	TLS        bool              // encrypt the connections between hosts
	Verbose    bool
	Quiet      bool

	Placement *job.Placement // placement on several hosts; nil: all processes are on this one
}

// Links configures the links between processes.
type Links struct {
	Kind string // kind of the links within a host: job.LinkSHM, LinkUnix or LinkTCP
	Ring int    // size of a shared-memory ring in bytes
	MPI  bool   // links between the first processes use the MPI library of the launcher
	// MPIBetween restricts MPI to links between hosts. Links within a host are then of the
	// kind Kind. Otherwise a process that dies may block the shared memory of the library.
	MPIBetween bool
	Limit      float64 // bandwidth of a link in bytes per second; 0: unlimited
}

// Stuck configures the reaction to a deadlock.
type Stuck struct {
	After time.Duration // how long the processes must have made no progress; 0: deadlocks are not detected
	Abort bool          // end the job; otherwise only warn the user
}

// DefaultStuck is how long processes may wait before the head looks for a
// deadlock.
const DefaultStuck = 30 * time.Second

// DefaultEndless bounds the time that a process may make no progress after every rank has
// finished in another replica.
const DefaultEndless = time.Minute

// Config describes one run of a program as a job.
type Config struct {
	Job
	Program []string      // name and arguments; a Go package is built first
	Bind    affinity.Mode // cores to which each process is bound; "": all
	Drain   bool          // SIGTERM makes this host leave the job; otherwise it ends the job
	Grace   time.Duration // time for this host to leave; 0: unbounded

	// Watchdog is the command that calls watchdog.Run if watchdog.Variable is in
	// its environment. Without a watchdog, processes that wrapper scripts have
	// started may survive a SIGKILL of this process.
	Watchdog []string

	RemoteShell string         // template of a command that starts another one on {host}
	Fanout      int            // maximum number of agents that the head, and each agent, starts; 0: DefaultFanout
	HeadAddress string         // address at which agents reach the head; "": any address of this host
	Agent       []string       // the command that calls Serve, at the same path on all hosts
	Indexed     *spawn.Indexed // the cluster manager starts the hosts; nil: they are started through RemoteShell
	Warning     string         // about the launcher that started the hosts; "": none
	DryRun      bool           // show the placement and start nothing
	// Rarer serves to measure the cost of beats between hosts. If it is n, the interval of
	// beats and the time to detect a lost host are n times as long. 0: the normal rate.
	Rarer int

	Width          func() int // width of the terminal for the progress line; nil: no terminal
	Stdin          io.Reader  // nil: empty
	Stdout, Stderr io.Writer
	Signals        <-chan os.Signal // nil: none
	Asks           <-chan os.Signal // requests for the status; nil: none
	// Stops starts to catch the signals that stop a job, and returns their channel. It is
	// called once there is a job. Suspend stops this process until it is continued. On several
	// hosts these signals are ignored.
	Stops   func() <-chan os.Signal
	Suspend func()
}

// validate reports errors in the configuration before anything is started.
func (c *Config) validate() error {
	processes := job.Processes(c.Degrees)
	if err := c.Faults.validate(c.Degrees); err != nil {
		return err
	}
	if c.Lag == 0 && c.Faults.Stale {
		return errors.New("-fault stale: nothing is kept without -lag: add -lag, like -lag 1s, or leave out -fault stale")
	}
	for i, clone := range c.Clones {
		if !slices.Contains(processes, clone.Process) {
			return fmt.Errorf("-clone %v: the job has no process %v, its degrees are %v", clone, clone.Process, c.Degrees)
		}
		if _, twice := job.CloneOf(c.Clones[:i], clone.Process); twice {
			return fmt.Errorf("-clone %v: %v has another tool already", clone, clone.Process)
		}
		if c.Placement == nil { // on several hosts, the host reports that when it starts the tool
			if _, err := clone.Find(); err != nil {
				return err
			}
		}
	}
	if err := c.Folders.validate(); err != nil {
		return err
	}
	if c.Placement != nil {
		return nil // the hosts' agents check their limits
	}
	page := 0
	if c.Page != nil {
		page = livepage.Connections
	}
	return supervise.CheckDescriptors(len(processes)+c.Spares, c.Links.Kind, page)
}

// listenAt returns the address at which the processes of a host listen for links over TCP. It
// returns "" if they need none. address is the address of the host.
func (j *Job) listenAt(address string) string {
	if j.Links.Kind == job.LinkTCP || j.Placement != nil && (len(j.Placement.Hosts) > 1 || j.admits()) {
		return net.JoinHostPort(address, "0")
	}
	return ""
}

// admits reports whether another host may join the job, as room for replacements or spares.
func (j *Job) admits() bool { return j.Replace || j.Spares > 0 }

// starts reports whether a process is started with the job. With -r MIN..MAX hosts may have no
// room for some.
func (j *Job) starts(p job.Process) bool {
	if j.Placement == nil {
		return true
	}
	_, placed := j.Placement.Of[p]
	return placed
}

// aheadOfClones is Setup.Ahead in a job with clones. The tool that runs a clone makes that
// replica slow, and senders need not wait for it until they keep this many bytes.
const aheadOfClones = 256 << 20

// fewProcesses is the size of the largest job in which all processes are linked at the start.
// Few links cost nothing, and no process has to wait for one later.
const fewProcesses = 8

// head returns the configuration of the head.
func (j *Job) head(nodes []head.Node) head.Config {
	c := head.Config{
		Degrees: j.Degrees, Least: j.Least, Nodes: nodes, Of: make(map[job.Process]detect.ID),
		Setup: job.Setup{Check: j.Check, Sched: j.Sched, MPI: j.Links.MPI, TLS: j.TLS, Limit: j.Links.Limit, Trace: j.Trace != "", Threads: j.Threads, Verify: j.Verify, Diverge: j.Diverge,
			Direct: j.Direct == job.DirectOn, Counters: j.Counters, Lag: j.Lag, Stale: j.Faults.Stale},
		Link: j.Links.Kind, MPIBetween: j.Links.MPIBetween, Ring: j.Links.Ring, OnUse: len(job.Processes(j.Degrees)) > fewProcesses, Direct: j.Direct,
		Replace: j.Replace, Backup: j.Backup, Checkpoint: j.Folders.Checkpoint, Restart: j.Folders.Restart, Clones: j.Clones,
		Kills: j.Faults.Kills, Flips: j.Faults.Flips, Again: j.Faults.Again, Weibull: j.Faults.Weibull, Endless: j.Endless,
	}
	if j.Lag > 0 { // each replica lacks other results
		c.Setup.Diverge = job.DivergeOff
	}
	if len(j.Clones) > 0 {
		c.Setup.Ahead = aheadOfClones
	}
	for _, p := range job.Processes(j.Degrees) {
		switch {
		case j.Placement == nil:
			c.Of[p] = nodes[0].ID
		case j.starts(p):
			c.Of[p] = nodes[j.Placement.Of[p]].ID
		}
	}
	for i := range j.Spares {
		if at := nodes[0].ID; j.Placement != nil {
			c.Spares = append(c.Spares, nodes[j.Placement.Spares[i]].ID)
		} else {
			c.Spares = append(c.Spares, at)
		}
	}
	return c
}
