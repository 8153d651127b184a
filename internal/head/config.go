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
	ExitFailed   = 1 // a rank's last replica ended by itself, or checked mode found something
	ExitRefused  = 2 // nothing was started, or the handshake refused it
	ExitLost     = 3 // a rank's last replica was killed, fenced or lost with its host
	ExitDiverged = 4 // replicas proved to differ
)

// FirstHead is the node of the head that the job began with. It has no
// processes.
const FirstHead detect.ID = 1

// Config describes the job to its head, the same to each.
type Config struct {
	Degrees []int
	Nodes   []Node                    // that processes may run on; a job on one host has one
	Of      map[job.Process]detect.ID // where each process is at the beginning
	Spares  []detect.ID               // where each spare is

	// Setup is what all processes are told alike: Check, Sched, TLS, Limit, Trace,
	// Threads, Verify, Vary, Direct, Counters and Ahead; MPI is for those that begin.
	Setup job.Setup
	Link  string // between processes of one host: job.LinkSHM, LinkUnix or LinkTCP
	Ring  int    // size of a shared-memory ring in bytes
	// MPIBetween: with MPI, those links are of that kind, too, and only others are MPI's.
	MPIBetween bool
	// OnUse: those links are made by the agents when they are first used, except
	// those between replicas of a rank, which are there from the start.
	OnUse  bool
	Direct job.Direct

	Replace    bool // a process that was lost is replaced by a new one
	Backup     recovery.Policy
	Checkpoint *Checkpoint // nil: no files are written
	Restart    string      // folder with the files to begin with, "" to begin anew
	Kills      []job.Kill
	Flips      []job.Flip  // wrong results on request
	Clones     []job.Clone // processes that a tool starts
	Weibull    *Weibull    // kills at random; nil: none
	// Endless is for how long a process may make no progress while every rank has finished
	// in another replica; 0: for any time.
	Endless time.Duration

	// Self is the node of this head. Replicated: what it decides is kept on other
	// hosts too, where another head may take its place.
	Self       detect.ID
	FirstHost  string // the name of the host of the head that the job began with
	Replicated bool

	// Doubtful reports whether a host may be about to be declared lost. nil: none
	// ever is.
	Doubtful func(detect.ID) bool
}

// Node is a host that processes run on.
type Node struct {
	ID     detect.ID
	Name   string
	Slots  int
	Listen string // where processes there listen for links over TCP, "" if they need not
}

// Checkpoint says that the state of the job is put into files.
type Checkpoint struct {
	Dir   string // as the user named it
	Every uint64 // safe points from one set of files to the next
}

// Weibull asks for failures at random: the times between two failures of the
// job have a Weibull distribution. With a shape below 1 they come in bursts,
// as those of clusters do; with 1 they do not know of each other.
type Weibull struct {
	Shape float64
	MTBF  time.Duration // mean time between two failures of the whole job
	Seed  uint64        // the same seed gives the same schedule
}

// Times that the head allows.
const (
	fenceAfter   = time.Second            // a replica may be stopped this long while a peer lives
	stoppedFor   = 300 * time.Millisecond // after it was seen stopped a process counts as stopped
	lastWords    = 2 * time.Second        // from the announcement of a death to the death
	suspectAfter = 500 * time.Millisecond // from a lost link to fencing
	replaceTime  = 10 * time.Second       // from a lost link between last replicas to the end, while one is being replaced
	endGrace     = 300 * time.Millisecond // from End to SIGKILL
	termGrace    = 2 * time.Second        // from SIGTERM to SIGKILL
	releaseGrace = 10 * time.Second       // from Release to SIGKILL
	joinWarning  = 10 * time.Second
)

// recovers reports whether anything is done about lost processes, or ahead of
// losses.
func (c *Config) recovers() bool { return c.replaces() || c.Checkpoint != nil }

// replaces reports whether other processes take the place of lost ones.
func (c *Config) replaces() bool { return c.Replace || len(c.Spares) > 0 }

// readsFiles reports whether there is something to be found in folders first.
func (c *Config) readsFiles() bool { return c.Checkpoint != nil || c.Restart != "" }

// spareID is by which the agent of a spare knows it: the rank behind the last
// one.
func (c *Config) spareID(i int) job.Process { return job.Process{Rank: len(c.Degrees) + i} }

func (c *Config) node(id detect.ID) *Node {
	for i := range c.Nodes {
		if c.Nodes[i].ID == id {
			return &c.Nodes[i]
		}
	}
	return nil
}
