package launch

import (
	"fmt"

	"github.com/intrahpc/intra/internal/agent/spawn"
)

// tree is that of the hosts which this process and the hosts have to start:
// those of an indexed job come by themselves.
func (c *Config) tree() *spawn.Tree {
	var hosts []string
	for _, h := range c.Placement.Hosts {
		if x := c.Indexed; x == nil || h.Name == x.Hosts[0].Name {
			hosts = append(hosts, h.Name)
		}
	}
	return spawn.NewTree(hosts, c.RemoteShell, c.Fanout)
}

// CheckFanout says why the number of agents that one starts cannot be chosen.
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
