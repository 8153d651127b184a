package launch

import (
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
)

// Job is what every head of a job works with, the first and those that take its
// place.
type Job struct {
	Name    string // the program and its arguments
	Degrees []int
	Link    string // job.LinkSHM, LinkUnix or LinkTCP
	Ring    int    // size of a shared-memory ring in bytes
	MPI     bool   // links between the processes that begin are over the library of the launcher
	// MPIBetween is MPI between hosts only: within one links are of the kind Link.
	MPIBetween bool

	Limit   float64 // bandwidth of a link in bytes per second; 0: as fast as it is
	Kills   []job.Kill
	Flips   []job.Flip        // wrong results on request
	Clones  []job.Clone       // processes that a tool starts
	Verify  *job.Verification // nil: no task is verified
	Diverge job.Diverge       // what is done about replicas that differ; "": they are not compared
	Replace bool              // a process that was lost is replaced by a new one
	Spares  int               // processes that wait to take the place of lost ones
	Backup  recovery.Policy
	Weibull *head.Weibull // kills at random; nil: none

	Checkpoint *head.Checkpoint // nil: no files are written
	Owner      string           // ID of the job in the lock of that folder
	Restart    string           // folder with the files to begin with, "" to begin anew
	Anyway     bool             // also if another program, or one with other arguments, wrote them
	Sched      string
	Check      bool
	Counters   []string // what is counted while tasks run
	Direct     job.Direct
	Threads    int    // workers that run the tasks of a process; 0 means 1
	Report     string // file of the report, "-" for standard error, "" for none
	Trace      string // file of the timeline, "" for none
	TraceLimit int64  // its largest size in bytes; 0: timeline.DefaultLimit
	Stuck      Stuck
	Endless    time.Duration     // see head.Config
	Status     time.Duration     // print the status so often; 0: never
	Page       *livepage.Address // of the live page; nil: there is none
	TLS        bool              // encrypt the connections between hosts
	Verbose    bool
	Quiet      bool

	Placement *job.Placement // on several hosts; nil: all on this one
}

// Stuck says what is done when processes wait for each other for ever.
type Stuck struct {
	After time.Duration // they have made no progress for so long; 0: nothing is done
	Abort bool          // the job ends, else the user is told
}

// DefaultStuck is how long processes may wait before it is looked for whom.
const DefaultStuck = 30 * time.Second

// DefaultEndless is how long a process may make no progress while every rank has finished
// in another replica.
const DefaultEndless = time.Minute

// Config describes one run of a program as a job.
type Config struct {
	Job
	Program []string      // name and arguments; a package is built first
	Bind    affinity.Mode // which cores each process gets; "": all

	// Watchdog is the command that, with watchdog.Variable in its environment,
	// calls watchdog.Run; without one, what wrapper scripts have started may
	// survive a SIGKILL of this process.
	Watchdog []string

	RemoteShell string         // starts a command on {host}
	Fanout      int            // how many agents the head, and each agent, starts; 0: DefaultFanout
	HeadAddress string         // where agents reach the head; "": at any address of this host
	Agent       []string       // the command that calls Serve, at the same path on all hosts
	Indexed     *spawn.Indexed // the hosts come by themselves; nil: they are started through RemoteShell
	Warning     string         // of the launcher that they come from; "": none
	DryRun      bool           // show the placement, start nothing
	// Rarer is for measurements of what beats between hosts cost: they are so
	// many times rarer, and the loss of a host is found so much later. 0: they
	// are as they should be.
	Rarer int

	Width          func() int // of the terminal that the progress line is for; nil: there is none
	Stdin          io.Reader  // nil: nothing
	Stdout, Stderr io.Writer
	Signals        <-chan os.Signal // nil: none
	Asks           <-chan os.Signal // for the status; nil: none
	// Stops begins to take the signals that stop a job, when there is one, and Suspend stops
	// this process until it is continued. On several hosts they are ignored.
	Stops   func() <-chan os.Signal
	Suspend func()
}

// validate finds what is wrong before anything is started.
func (c *Config) validate() error {
	processes := job.Processes(c.Degrees)
	for _, k := range c.Kills {
		if !slices.Contains(processes, k.Process) {
			return fmt.Errorf("-kill %v: the job has no process %v, its degrees are %v", k, k.Process, c.Degrees)
		}
	}
	for _, f := range c.Flips {
		if !slices.Contains(processes, f.Process) {
			return fmt.Errorf("-fault %s: the job has no process %v, its degrees are %v", f.Fault(), f.Process, c.Degrees)
		}
	}
	for i, clone := range c.Clones {
		if !slices.Contains(processes, clone.Process) {
			return fmt.Errorf("-clone %v: the job has no process %v, its degrees are %v", clone, clone.Process, c.Degrees)
		}
		if _, twice := job.CloneOf(c.Clones[:i], clone.Process); twice {
			return fmt.Errorf("-clone %v: %v has another tool already", clone, clone.Process)
		}
		if c.Placement == nil { // else its host says so when it starts it
			if _, err := clone.Find(); err != nil {
				return err
			}
		}
	}
	if err := c.validateFolders(); err != nil {
		return err
	}
	if c.Placement != nil {
		return nil // their agents see to that
	}
	page := 0
	if c.Page != nil {
		page = livepage.Connections
	}
	return supervise.CheckDescriptors(len(processes)+c.Spares, c.Link, page)
}

// listenAt is where processes listen for links over TCP whose host has that
// address, "" if they need not.
func (j *Job) listenAt(address string) string {
	if j.Link == job.LinkTCP || j.Placement != nil && len(j.Placement.Hosts) > 1 {
		return net.JoinHostPort(address, "0")
	}
	return ""
}

// aheadOfClones is how many bytes of messages are kept for the ranks of slow replicas.
const aheadOfClones = 256 << 20

// fewProcesses is how many processes a job may have that all get links to each other at
// the start: few links cost nothing, and none of them has to be waited for.
const fewProcesses = 8

// head describes the job to its head.
func (j *Job) head(nodes []head.Node) head.Config {
	c := head.Config{
		Degrees: j.Degrees, Nodes: nodes, Of: make(map[job.Process]detect.ID),
		Setup: job.Setup{Check: j.Check, Sched: j.Sched, MPI: j.MPI, TLS: j.TLS, Limit: j.Limit, Trace: j.Trace != "", Threads: j.Threads, Verify: j.Verify, Diverge: j.Diverge,
			Direct: j.Direct == job.DirectOn, Counters: j.Counters},
		Link: j.Link, MPIBetween: j.MPIBetween, Ring: j.Ring, OnUse: len(job.Processes(j.Degrees)) > fewProcesses, Direct: j.Direct,
		Replace: j.Replace, Backup: j.Backup, Checkpoint: j.Checkpoint, Restart: j.Restart, Kills: j.Kills, Flips: j.Flips, Clones: j.Clones, Weibull: j.Weibull, Endless: j.Endless,
	}
	if len(j.Clones) > 0 {
		c.Setup.Ahead = aheadOfClones
	}
	for _, p := range job.Processes(j.Degrees) {
		if c.Of[p] = nodes[0].ID; j.Placement != nil {
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
