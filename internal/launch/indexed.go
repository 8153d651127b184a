package launch

import (
	"context"
	"fmt"

	"github.com/intrahpc/intra/internal/agentd"
	"github.com/intrahpc/intra/internal/spawn"
)

// ServeIndexed is Serve for the agent of this host in an indexed job. A job that
// does not end well is a JobError on all hosts: the first one may not be there
// any more.
func ServeIndexed(ctx context.Context, c Config) error {
	x := c.Indexed
	h := x.Hosts[x.Index]
	used := false
	for _, p := range c.Placement.Hosts {
		used = used || p.Name == h.Name
	}
	if !used {
		return fmt.Errorf("%s names more hosts than the job needs: it runs on %d, without %s", spawn.EnvHosts, len(c.Placement.Hosts), h.Name)
	}
	return agentd.ServeJob(ctx, x.Bootstrap(c.TLS), agentd.Config{Watchdog: c.Watchdog, Takeover: takeOver})
}
