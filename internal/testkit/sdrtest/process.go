package sdrtest

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"github.com/intrahpc/intra/transport"
)

func (p *Process) start(program func(p *Process) error) {
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		defer func() { // otherwise the stack of a panic in a coroutine would be lost
			if r := recover(); r != nil && r != error(errKilled) {
				panic(fmt.Sprintf("seed %d, %v: %v\n%s", p.job.job.Seed, p, r, debug.Stack()))
			}
		}()
		if p.job.job.Recovery != nil {
			p.serve(program)
			return
		}
		p.Err = program(p)
		if p.Err == nil {
			p.Err = p.Engine.Drained(context.Background())
		}
		if !p.Killed {
			p.finished = true
		}
	})
}

func (p *Process) run() {
	p.woken = false
	p.resume()
}

// Wait implements sdr.Waiter.
func (p *Process) Wait(_ context.Context, done func() bool) error {
	for {
		if p.Killed {
			return errKilled
		}
		if done() {
			return nil
		}
		if !p.yield(struct{}{}) {
			return errKilled
		}
	}
}

// WaitFor is like Wait, but also returns nil after a long wait. This may happen at any
// time, but not twice without an event in between.
func (p *Process) WaitFor(ctx context.Context, _ time.Duration, done func() bool) error {
	p.waits = true
	err := p.Wait(ctx, func() bool { return done() || !p.waits })
	p.waits = false
	return err
}

// tire makes a WaitFor return early.
func (p *Process) tire() {
	p.waits, p.tired, p.woken = false, p.job.events, true
}

// Wake implements sdr.Waiter.
func (p *Process) Wake() { p.woken = true }

// Poll lets the other processes run, so that a program may poll in a loop.
func (p *Process) Poll() bool {
	p.woken = true
	if p.Killed || !p.yield(struct{}{}) {
		panic(errKilled) // ends a loop that polls; start recovers it
	}
	return true
}

// Link returns the link to another process.
func (p *Process) Link(rank, replica int) transport.Link {
	to := p.job.process(rank, replica)
	key := pair{p, to}
	l := p.job.links[key]
	if l == nil {
		var r transport.Receiver = &inbox{to, p.Rank, p.Replica}
		if to.layer != nil {
			r = &channels{messages: r, layer: to.layer.Receiver(p)}
		}
		l = NewLink(p, to, r, p.job.random)
		p.job.links[key] = l
		p.job.order = append(p.job.order, l)
	}
	return l
}

// receiveDeath delivers the next report of a death. The frames that the dead process had handed
// over come first.
func (p *Process) receiveDeath() {
	q := p.job.dead[p.verdicts]
	if l := p.job.links[pair{q, p}]; l != nil && !l.Ended() {
		l.Move()
		return
	}
	p.verdicts++
	if l := p.job.links[pair{p, q}]; l != nil {
		l.PeerDied()
	}
	if p.layer != nil {
		p.layer.Dead(q)
	}
	p.Engine.Dead(q.Rank, q.Replica)
	p.woken = true
}

// Gone implements End.
func (p *Process) Gone() bool { return p.Killed }

// Sends implements End.
func (p *Process) Sends() {
	if p.pass(AtFrame) {
		p.job.kill(p, AtFrame)
	}
}

// Knows implements End.
func (p *Process) Knows(other End) bool {
	return slices.ContainsFunc(p.job.dead[:p.verdicts], func(q *Process) bool { return q == other })
}

// String names the process.
func (p *Process) String() string { return fmt.Sprintf("%d.%d", p.Rank, p.Replica) }
