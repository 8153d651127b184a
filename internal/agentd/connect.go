package agentd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/spawn"
)

// connect reaches the head at one of its addresses, the first ones first. It
// gives up when ctx ends.
func connect(ctx context.Context, s *spawn.Bootstrap) (net.Conn, error) {
	secure, err := job.NewSecure(&s.Secret, agentwire.AgentName(s.Name), s.TLS)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
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
				if err == nil {
					if c, err = secure.Client(ctx, c, agentwire.HeadName); err != nil {
						err = fmt.Errorf("reach the head at %s: %w", address, err)
					}
				}
				select {
				case results <- result{c, err}:
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
	last := errors.New("it has no address")
	for {
		select {
		case r := <-results:
			if r.err == nil {
				cancel()
				return r.conn, nil
			}
			last = r.err
		case <-ctx.Done():
			return nil, last
		}
	}
}

// addressDelay is the time between tries, and by which one address of the head
// is preferred to the next.
const addressDelay = 300 * time.Millisecond
