package head

import (
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Exit codes of a job.
const (
	ExitOK       = 0
	ExitFailed   = 1 // a rank's last replica ended by itself, or checked mode found an error
	ExitRefused  = 2 // nothing was started, or the processes do not fit together
	ExitLost     = 3 // a rank's last replica was killed, fenced or lost with its host
	ExitDiverged = 4 // replicas diverged

	ExitHandedOver  = 6 // this head has handed over: the job goes on with another one
	ExitInterrupted = 7 // the job had to leave its hosts, and can continue from files
)

// FirstHead is the node ID of the first head of the job. No host that runs processes has
// this ID.
const FirstHead detect.ID = 1

// Config describes the job to its head. A successor gets the same Config, except for Self.
type Config struct {
	Degrees []int                     // slots of each rank: the most replicas that it can have
	Least   []int                     // the fewest replicas of each rank; nil: as many as it has slots
	Nodes   []Node                    // hosts on which processes may run; a job on one host has one node
	Of      map[job.Process]detect.ID // the node of each process at the beginning; a slot without one is vacant until a host has room
	Spares  []detect.ID               // the node of each spare

	// Setup holds the fields that are the same for all processes: Check, Sched, TLS, Limit,
	// Trace, Threads, Verify, Direct, Counters, Ahead and MPI. Only the first processes get
	// MPI.
	Setup job.Setup
	Link  string // kind of link within a host: job.LinkSHM, LinkUnix or LinkTCP
	Ring  int    // size of a shared-memory ring in bytes
	// MPIBetween restricts MPI to links between hosts. Links within a host are then of kind
	// Link.
	MPIBetween bool
	// OnUse lets agents make a link within a host when it is first used. Links between
	// replicas of a rank exist from the start.
	OnUse  bool
	Direct job.Direct

	Replace    bool // new processes replace lost ones
	Backup     recovery.Policy
	Checkpoint *Checkpoint // nil: no files are written
	Restart    string      // folder with the files to begin with, "": none
	Kills      []job.Kill
	Flips      []job.Flip  // requested bit flips
	Again      []job.Again // requested runs from a safe point, alone
	Clones     []job.Clone // processes that a tool starts
	Weibull    *Weibull    // kills at random; nil: none
	// Endless bounds the time that a process may make no progress while every rank has
	// finished in another replica; 0: unbounded.
	Endless time.Duration

	// Self is the node of this head. Home is the node of the agent on its host, 0 if there is
	// none. If Replicated is set, other hosts also keep its decisions, and a successor may take
	// over there. Members are the nodes that keep them at the beginning.
	Self, Home detect.ID
	Beside     []detect.ID // the nodes on the host of this head that have joined the running job
	FirstHost  string      // the name of the host of the first head
	Replicated bool
	Members    []detect.ID

	// Drain: SIGTERM makes the host of this head leave the job, within Grace if that is not 0.
	// Otherwise it ends the job.
	Drain bool
	Grace time.Duration

	// Doubtful reports whether a host may soon be declared lost. nil: no host ever is.
	Doubtful func(detect.ID) bool
}

// Node is a host that processes run on.
type Node struct {
	ID     detect.ID
	Name   string
	Rack   string // "": unknown
	Slots  int
	Listen string // the address where processes listen for links over TCP; "" if they need none
}

// Checkpoint describes where and how often the state of the job is written to files.
type Checkpoint struct {
	Dir   string // path as the user wrote it
	Every uint64 // safe points from one set of files to the next
}

// Weibull requests failures at random: the times between two failures of the job have a
// Weibull distribution. With a shape below 1 failures cluster, as on real clusters. With shape
// 1 they are independent of each other.
type Weibull struct {
	Shape float64
	MTBF  time.Duration // mean time between two failures of the whole job
	Seed  uint64        // the same seed gives the same schedule
}

// How long the head waits.
const (
	fenceAfter   = time.Second            // a replica may be stopped this long while a peer runs
	stoppedFor   = 300 * time.Millisecond // a process counts as stopped this long after it was last seen stopped
	lastWords    = 2 * time.Second        // from the announcement of a death to the death
	suspectAfter = 500 * time.Millisecond // from a lost link to fencing
	replaceTime  = 10 * time.Second       // from a broken link between the last replicas of two ranks to the end of the job, if one of the ranks gets a second replica
	endGrace     = 300 * time.Millisecond // from End to SIGKILL
	termGrace    = 2 * time.Second        // from SIGTERM to SIGKILL
	releaseGrace = 10 * time.Second       // from Release to SIGKILL
	joinWarning  = 10 * time.Second
)

// recovers reports whether the job needs package recovery: for replacements, or for files.
func (c *Config) recovers() bool { return c.replaces() || c.Checkpoint != nil }

// replaces reports whether lost processes are replaced.
func (c *Config) replaces() bool { return c.Replace || len(c.Spares) > 0 }

// readsFiles reports whether the driver has to look into folders before the job begins.
func (c *Config) readsFiles() bool { return c.Checkpoint != nil || c.Restart != "" }

// spareID returns the name of spare i, by which its agent knows it. The ranks of spares follow
// the last rank of the job.
func (c *Config) spareID(i int) job.Process { return job.Process{Rank: len(c.Degrees) + i} }

// vacant reports whether a slot has no process at the start.
func (c *Config) vacant(p job.Process) bool {
	_, there := c.Of[p]
	return !there
}

func (c *Config) node(id detect.ID) *Node {
	for i := range c.Nodes {
		if c.Nodes[i].ID == id {
			return &c.Nodes[i]
		}
	}
	return nil
}
