package main

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// The programs of this file send other messages on one replica than on another.

// moreMessages: one replica sends a message that another one does not send.
func moreMessages(p *intra.Process, a *arrays) error {
	w := p.World()
	if err := asserts(w, a); err != nil {
		return err
	}
	if w.Rank() == 0 && p.Replica() == 1 {
		return comm.Send(w, a.x[:1], 1, tagResult) //intra:allow which is wrong
	}
	return nil
}

// earlierMessage: one replica sends another message before the one that both send.
func earlierMessage(p *intra.Process, a *arrays) error {
	w := p.World()
	if w.Rank() == 0 && p.Replica() == 1 {
		if err := comm.Send(w, a.x[:1], 1, tagResult); err != nil { //intra:allow which is wrong
			return err
		}
	}
	if w.Rank() == 0 {
		if err := comm.Send(w, a.y[:1], 1, tagResult); err != nil {
			return err
		}
	}
	if w.Rank() == 1 {
		if _, err := comm.Recv(w, a.y[:1], 0, tagResult); err != nil {
			return err
		}
	}
	halve(p, a.y, a.x)
	return nil
}

// fewerMessages: one replica does not send the message whose answer all wait for.
func fewerMessages(p *intra.Process, a *arrays) error {
	w := p.World()
	if w.Rank() > 1 {
		return nil
	}
	other := 1 - w.Rank()
	if w.Rank() == 1 {
		if _, err := comm.Recv(w, a.y[:1], other, tagAsk); err != nil {
			return err
		}
	}
	if w.Rank() == 1 || p.Replica() == 1 {
		if err := comm.Send(w, a.x[:1], other, tagAsk); err != nil { //intra:allow which is wrong
			return err
		}
	}
	if w.Rank() == 0 {
		if _, err := comm.Recv(w, a.y[:1], other, tagAsk); err != nil {
			return err
		}
	}
	return nil
}

// asserts says once that messages depend on no order.
func asserts(w *comm.Comm, a *arrays) error {
	if a.s != 1 {
		return nil
	}
	a.s++
	return w.AssertSendDeterministic()
}

// assertedTest: each message contains the number of tests that its sender has made.
func assertedTest(p *intra.Process, a *arrays) error {
	w := p.World()
	if err := asserts(w, a); err != nil {
		return err
	}
	to := (w.Rank() + 1) % w.Size()
	for range questions {
		r := comm.Irecv(w, a.y[:1], comm.AnySource, tagAsk)
		if err := comm.Send(w, a.x[:1], to, tagAsk); err != nil {
			return err
		}
		tests := 0
		for done := false; !done; tests++ {
			var err error
			if _, done, err = r.Test(); err != nil {
				return err
			}
		}
		if err := comm.Send(w, []float64{float64(tests)}, to, tagResult); err != nil {
			return err
		}
		if _, err := comm.Recv(w, a.y[1:2], comm.AnySource, tagResult); err != nil {
			return err
		}
	}
	return nil
}

// assertedWaitAny: the message contains the index of the request that was complete first.
func assertedWaitAny(p *intra.Process, a *arrays) error {
	w := p.World()
	if err := asserts(w, a); err != nil {
		return err
	}
	for range questions {
		var reqs []*comm.Request
		for r := range w.Size() {
			reqs = append(reqs, comm.Irecv(w, a.y[r:r+1], r, tagAsk))
		}
		for r := range w.Size() {
			if err := comm.Send(w, a.x[:1], r, tagAsk); err != nil {
				return err
			}
		}
		first, _, err := comm.WaitAny(reqs...)
		if err != nil {
			return err
		}
		if err := comm.WaitAll(reqs...); err != nil {
			return err
		}
		if err := comm.Send(w, []float64{float64(first)}, (w.Rank()+1)%w.Size(), tagResult); err != nil {
			return err
		}
		if _, err := comm.Recv(w, a.y[:1], comm.AnySource, tagResult); err != nil {
			return err
		}
	}
	return nil
}
