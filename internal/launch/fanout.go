package launch

import (
	"fmt"

	"github.com/intrahpc/intra/internal/agent/spawn"
)

// tree returns the tree of the hosts whose agents are started from here. The cluster manager
// starts the other hosts of an indexed job.
func (c *Config) tree() *spawn.Tree {
	var hosts []string
	for _, h := range c.Placement.Hosts {
		if x := c.Indexed; x == nil || h.Name == x.Hosts[0].Name {
			hosts = append(hosts, h.Name)
		}
	}
	return spawn.NewTree(hosts, c.RemoteShell, c.Fanout)
}

// CheckFanout returns why -fanout cannot be used.
func (c *Config) CheckFanout() error {
	switch {
	case c.Fanout < 1:
		return fmt.Errorf("-fanout %d: want at least 1 host", c.Fanout)
	case c.Indexed != nil:
		return fmt.Errorf("-fanout %d: the hosts of an indexed job start by themselves", c.Fanout)
	case spawn.StartsAll(c.RemoteShell):
		return fmt.Errorf("-fanout %d: srun starts all hosts itself", c.Fanout)
	}
	return nil
}
