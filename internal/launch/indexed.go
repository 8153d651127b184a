package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/launcher"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/base/listen"
	"github.com/intrahpc/intra/internal/head"
)

// ServeIndexed runs the agent of this host in an indexed job, like Serve. If the job fails, it
// returns a JobError on every host, since the first host may be lost.
func ServeIndexed(ctx context.Context, c Config) error {
	x := c.Indexed
	h := x.Hosts[x.Index]
	used := false
	for _, p := range c.Placement.Hosts {
		used = used || p.Name == h.Name
	}
	if !used && x.Spare() {
		return nil
	}
	if !used {
		return fmt.Errorf("%s names more hosts than the job needs: it runs on %d, without %s", spawn.EnvHosts, len(c.Placement.Hosts), h.Name)
	}
	return agentd.ServeJob(ctx, x.Bootstrap(c.TLS), agentd.Config{Watchdog: c.Watchdog, Leave: c.Signals, Takeover: takeOver})
}

// Launched returns the role of a process in an indexed job that a launcher has started.
// address is the one at which agents reach the head, "" for any.
func Launched(ctx context.Context, p *launcher.Process, address string) (*spawn.Indexed, error) {
	if p.Rank > 0 {
		return spawn.Launched(ctx, p, nil, nil)
	}
	l, err := listenForAgents(ctx, address, "0")
	if err != nil {
		return nil, err
	}
	addresses, err := agentwire.Addresses(l.Addr(), address)
	if err != nil {
		return nil, err
	}
	return spawn.Launched(ctx, p, l, addresses)
}

// ExitCode returns intrarun's exit code for a job that does not begin for the given reason.
func ExitCode(why error) int {
	if i, ok := errors.AsType[spawn.Interrupted](why); ok {
		return head.InterruptCode(i.Signal.(syscall.Signal))
	}
	return ExitRefused
}

// Lend lends this process's identity of a launcher to the agent of its host, and returns when
// the agent has ended.
func Lend(ctx context.Context, x *spawn.Indexed) error {
	own, err := launcher.Own(os.Environ())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, spawn.IndexedPatience)
	defer cancel()
	return own.Lend(ctx, launcher.Lender(x.Secret, x.Hosts[x.Index].Name), x.Agent)
}

// Dismiss releases the processes of this host that wait to lend an identity to an agent which
// did not begin. If none of them arrives, it returns when ctx ends.
func Dismiss(ctx context.Context, x *spawn.Indexed) {
	host := x.Hosts[x.Index]
	launcher.Dismiss(ctx, launcher.Lender(x.Secret, host.Name), host.Slots)
}

// listenForAgents listens at an address of this host, "" for all addresses.
func listenForAgents(ctx context.Context, address, port string) (net.Listener, error) {
	network := "tcp"
	if address == "" {
		network = listen.Everywhere(network)
	}
	l, err := agentwire.ListenConfig().Listen(ctx, network, net.JoinHostPort(address, port))
	if err != nil {
		return nil, fmt.Errorf("listen for agents: %w", err)
	}
	return l, nil
}
