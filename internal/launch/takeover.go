package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/arbiter"
)

// Serve runs an agent, which reads a Bootstrap from in. command starts its watchdog. leave
// receives a signal when this host is to leave the job.
func Serve(ctx context.Context, in io.Reader, command []string, leave <-chan os.Signal) error {
	return agentd.Serve(ctx, in, agentd.Config{Watchdog: command, Leave: leave, Takeover: takeOver})
}

// takeoverInfo returns the information that a successor of this head needs.
func (c *Config) takeoverInfo(agents []*remote) *agentd.TakeoverInfo {
	j := c.Job
	info := &agentd.TakeoverInfo{Hosts: j.Placement.Hosts, Addresses: make(map[arbiter.ID]string)}
	for i, r := range agents { // every live agent may become the head
		info.Addresses[agentOf(i)] = r.takeover
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = os.TempDir()
	}
	here := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	if c.Indexed == nil {
		info.Output = filepath.Join(dir, fmt.Sprintf("intrarun-%d", os.Getpid()))
	}
	if j.Report != onStandardError {
		j.Report = here(j.Report)
	}
	j.Folders.Restart = here(j.Folders.Restart)
	if f := j.Folders.Checkpoint; f != nil {
		j.Folders.Checkpoint = &head.Checkpoint{Dir: here(f.Dir), Every: f.Every}
	}
	info.Job = agentwire.Encode(j)
	return info
}

// takeOver acts as the head after the loss of the previous one, and returns the exit code of
// the job.
func takeOver(l *agentd.Lead) int {
	s := &successor{lead: l, engine: l.Engine, state: l.State, came: make(map[string]*agentd.Incoming)}
	if err := json.Unmarshal(l.Info.Job, &s.job); err != nil {
		fmt.Fprintln(os.Stderr, "intrarun: read what the lost head left behind:", err)
		return ExitLost
	}
	return s.run()
}
