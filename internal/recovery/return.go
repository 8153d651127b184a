package recovery

import (
	"fmt"

	"github.com/intrahpc/intra/internal/job"
)

// Return is the part of a rollback in a process. It decides the steps of the program's
// goroutine. S is the state of a rank. Orders and states may arrive between any two steps,
// and a newer order starts the rollback over. The zero value belongs to a process that is
// not in a rollback.
type Return[S any] struct {
	order *job.Order // the newest order to roll back; nil: the process is not in a rollback
	stage stage      // the stage of this process in that rollback
	// given holds the states that other processes have sent, by generation. None is older
	// than order. A state may be newer, if its sender has received a newer order first.
	given map[uint32]S
	// resumed means that all processes have rolled back, in the generation of order.
	resumed bool
}

// stage is the stage of a process in one rollback.
type stage uint8

const (
	giving   stage = iota // other processes wait for states that this process holds
	stopping              // links may still use the memory of the previous generation
	taking                // waits for its own state
	telling               // has rolled back, but not reported it
	waiting               // waits for the other processes
)

// ReturnKind names the next step of the program's goroutine in a rollback.
type ReturnKind uint8

// These are the steps of a rollback. The caller calls Did after each one except Forward
// and Await.
const (
	Forward ReturnKind = iota // continue the program: the rollback is over
	Await                     // wait until an order or a state arrives
	Give                      // send the states that other processes need
	Stop                      // wait until no link uses the program's memory
	Restore                   // load the state and the position at which it was taken
	Tell                      // report to the head that this process has rolled back
)

// ReturnStep is one step of a rollback.
type ReturnStep[S any] struct {
	Kind  ReturnKind
	Order job.Order // the order that the step belongs to
	// Own is for Restore: the process takes its state from a copy that it holds itself, not
	// from State.
	Own   bool
	State S
}

// Order processes an order. It ignores orders that do not concern rollbacks.
func (r *Return[S]) Order(o job.Order) {
	switch o.Kind {
	case job.OrderRollback:
		r.order, r.stage, r.resumed = &o, giving, false
		for generation := range r.given {
			if generation < o.Generation {
				delete(r.given, generation)
			}
		}
	case job.OrderResume:
		r.resumed = r.order != nil && r.order.Generation == o.Generation
	}
}

// Given keeps a state that another process has sent for that generation.
func (r *Return[S]) Given(generation uint32, state S) {
	if r.order != nil && generation < r.order.Generation {
		return
	}
	if r.given == nil {
		r.given = make(map[uint32]S)
	}
	r.given[generation] = state
}

// Pending reports whether the process is in a rollback, or has to begin one.
func (r *Return[S]) Pending() bool { return r.order != nil }

// Next returns the next step of the process self.
func (r *Return[S]) Next(self job.Process) ReturnStep[S] {
	if r.order == nil {
		return ReturnStep[S]{}
	}
	s := ReturnStep[S]{Kind: Await, Order: *r.order}
	switch r.stage {
	case giving:
		s.Kind = Give
	case stopping:
		s.Kind = Stop
	case taking:
		var have bool
		if s.Own = r.own(self); !s.Own {
			s.State, have = r.given[r.order.Generation]
		}
		if s.Own || have {
			s.Kind = Restore
		}
	case telling:
		s.Kind = Tell
	case waiting:
		if r.resumed {
			s.Kind = Forward
			*r = Return[S]{given: r.given}
		}
	}
	return s
}

// own reports whether self takes its state from the copy that it holds.
func (r *Return[S]) own(self job.Process) bool {
	for _, d := range r.order.Deals {
		if d.To == self {
			return d.From == self
		}
	}
	return false
}

// Did records that a step is done, and returns the replies to the head. It ignores a step
// of an older order.
func (r *Return[S]) Did(s ReturnStep[S]) []job.Reply {
	if r.order == nil || r.order.Generation != s.Order.Generation {
		return nil
	}
	r.stage++
	switch s.Kind {
	case Restore:
		delete(r.given, s.Order.Generation)
	case Tell:
		return []job.Reply{{Kind: job.ReplyReady, Generation: s.Order.Generation, Number: s.Order.Number}}
	}
	return nil
}

// Describe returns a text for users about the step of the rollback, "" outside one.
func (r *Return[S]) Describe() string {
	if r.order == nil {
		return ""
	}
	doing := [...]string{"sends other processes their state", "waits until no link uses its memory", "waits for its state", "is back", "waits for the other processes to roll back"}[r.stage]
	return fmt.Sprintf("goes back to safe point %d (rollback %d): %s", r.order.Number, r.order.Generation, doing)
}
