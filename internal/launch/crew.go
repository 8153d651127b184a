package launch

import (
	"sync"

	"github.com/intrahpc/intra/internal/base/detect"
)

// crew holds the agents of all nodes. The agent of a host that joins the running job is added while
// other goroutines look up agents.
type crew struct {
	mu  sync.RWMutex
	all map[detect.ID]agent
}

// at returns the agent of a node, nil if there is none.
func (c *crew) at(node detect.ID) agent {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.all[node]
}

func (c *crew) add(node detect.ID, a agent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = make(map[detect.ID]agent)
	}
	c.all[node] = a
}
