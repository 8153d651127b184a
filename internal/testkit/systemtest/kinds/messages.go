package main

import (
	"math/rand/v2"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// In the programs of this file one replica sends other messages than another.

// moreMessages sends a message from only one replica.
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

// earlierMessage sends, from only one replica, a message before the one that both send.
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

// fewerMessages does not send, from one replica, the message for whose answer all replicas
// wait.
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

// asserts asserts once that messages do not depend on any order.
func asserts(w *comm.Comm, a *arrays) error {
	if a.s != 1 {
		return nil
	}
	a.s++
	return w.AssertSendDeterministic()
}

// assertedTest sends messages that contain the number of tests that their sender has made.
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

// assertedWaitAny sends a message that contains the index of the request that was complete
// first.
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
		time.Sleep(rand.N(time.Millisecond)) // any order of arrival is possible
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
