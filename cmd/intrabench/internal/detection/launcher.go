package detection

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch"
)

// Names of the commands by which intrabench acts as a launcher with one additional option, as
// its agent, and as the program.
const (
	HeadCommand    = "detect-head"
	AgentCommand   = "detect-agent"
	ProgramCommand = "detect-job"
)

// Head is the job that a head command runs.
type Head struct {
	Hosts   string // hosts of its processes, as for intrarun; "" is this host
	Rarer   int    // factor by which the interval of beats is longer
	Report  string
	Program []string
}

// The job's ranks, and the replicas of each. Every process is alone on its host.
const (
	ranks    = 2
	replicas = 2
	hosts    = ranks * replicas
)

// Run runs the job like intrarun -v, and returns its exit code.
func (h *Head) Run(ctx context.Context) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	c := launch.Config{
		Job:     launch.Job{Links: launch.Links{Kind: job.LinkSHM, Ring: job.DefaultRing}, Report: h.Report, Verbose: true},
		Program: h.Program, Rarer: h.Rarer,
		Watchdog: []string{"/proc/self/exe"}, Agent: []string{self, AgentCommand}, RemoteShell: "ip netns exec {host}",
		Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals,
	}
	if c.Degrees, err = (job.Spec{Ranks: ranks, Replicas: replicas}).Resolve(); err != nil {
		return 0, err
	}
	if h.Hosts != "" {
		all, err := job.ParseHosts(h.Hosts)
		if err != nil {
			return 0, err
		}
		if c.Placement, err = job.Place(c.Degrees, all, false); err != nil {
			return 0, err
		}
	}
	return launch.Run(ctx, c), nil
}
