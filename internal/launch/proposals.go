package launch

import (
	"errors"
	"time"

	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/head/decision"
)

// proposals are the entries that the head has proposed and the arbiter has not accepted yet,
// in order.
type proposals struct {
	propose func(decision.Entry) error // see arbiter.Engine.Propose
	again   func(time.Duration, func())
	failed  func(error)
	queue   []decision.Entry
	waiting bool // a timer for the next try is running
}

// proposeAgain is the wait before the next try while the head may not decide.
const proposeAgain = 50 * time.Millisecond

// add proposes an entry after the waiting ones.
func (p *proposals) add(e decision.Entry) {
	p.queue = append(p.queue, e)
	p.next()
}

func (p *proposals) next() {
	for len(p.queue) > 0 && !p.waiting {
		err := p.propose(p.queue[0])
		switch {
		case err == nil:
			p.queue = p.queue[1:]
		case errors.Is(err, arbiter.ErrNotHead): // temporary, unless Yield follows
			p.waiting = true
			p.again(proposeAgain, func() {
				p.waiting = false
				p.next()
			})
		default:
			p.queue = nil
			p.failed(err)
		}
	}
}
