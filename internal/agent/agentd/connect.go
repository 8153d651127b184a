package agentd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/job"
)

// connect connects to the head at one of its addresses, and prefers the first ones. It gives
// up when ctx ends.
func connect(ctx context.Context, s *spawn.Bootstrap) (net.Conn, error) {
	name := agentwire.AgentName(s.Name)
	if s.Join != nil {
		name = agentwire.JoinerName(s.Name)
	}
	secure, err := job.NewSecure(&s.Secret, name, s.TLS)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	type result struct {
		conn     net.Conn
		accepted bool // conn was made, even if the handshake failed
		err      error
	}
	results := make(chan result)
	var asking atomic.Int32 // number of accepted connections on which the head has not answered yet
	var tries sync.WaitGroup
	for i, address := range s.Addresses {
		tries.Go(func() {
			select {
			case <-time.After(time.Duration(i) * addressDelay):
			case <-ctx.Done():
				return
			}
			for {
				c, err := agentwire.Dialer().DialContext(ctx, "tcp", address)
				accepted := err == nil
				if accepted {
					asking.Add(1)
					if c, err = secure.Client(ctx, c, agentwire.HeadName); err != nil {
						err = fmt.Errorf("reach the head at %s: %w", address, err)
					}
					asking.Add(-1)
				}
				select {
				case results <- result{c, accepted, err}:
				case <-ctx.Done():
					if err == nil {
						c.Close()
					}
					return
				}
				if err == nil {
					return
				}
				select {
				case <-time.After(addressDelay):
				case <-ctx.Done():
					return
				}
			}
		})
	}
	defer tries.Wait()
	defer cancel() // runs before the wait
	last, begun := errors.New("it has no address"), time.Now()
	for {
		select {
		case r := <-results:
			if r.err == nil {
				return r.conn, nil
			}
			last = r.err
			if r.accepted || asking.Load() > 0 {
				begun = time.Now()
			}
			if s.Silence > 0 && time.Since(begun) > s.Silence {
				return nil, fmt.Errorf("the head has ended before this host's agent could reach it: %w", last)
			}
		case <-ctx.Done():
			return nil, last
		}
	}
}

// addressDelay is the time between tries at one address. It is also the head start of each
// address over the next.
const addressDelay = 300 * time.Millisecond
