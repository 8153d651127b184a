package recovery

import (
	"fmt"

	"github.com/intrahpc/intra/internal/job"
)

// Return is the part of a process in rollbacks: it says what the goroutine of
// the program does on its way back to the last backup. S is the state of a
// rank. Orders and states may come at any time, between any two steps; a newer
// order makes the way begin again. The zero value is that of a process that
// goes forward.
type Return[S any] struct {
	order *job.Order // the newest one to go back; nil: go forward
	stage stage      // how far this process is with it
	// given are the states that others have sent, by generation: that of order
	// and newer ones, which a giver may have heard of before this process.
	given map[uint32]S
	// resumed: everybody is back. Only what follows the newest order counts.
	resumed bool
}

// stage is how far a process is with one order.
type stage uint8

const (
	giving   stage = iota // others wait for their state
	stopping              // links may still use the memory of the generation that has ended
	taking                // waits for its own state
	telling               // is back, and has to say so
	waiting               // for the others
)

// ReturnKind says what the program's goroutine does next on the way back.
type ReturnKind uint8

// The steps back. After each but the first two Did is called.
const (
	Forward ReturnKind = iota // all are back: go on with the program
	Await                     // wait until an order or a state comes
	Give                      // send the states that others lack
	Stop                      // wait until no link uses the program's memory
	Restore                   // take the state, and stand where it was taken
	Tell                      // the head that this process is back
)

// ReturnStep is one step back.
type ReturnStep[S any] struct {
	Kind  ReturnKind
	Order job.Order // the one that is followed
	// For Restore: Own says that the state is the copy that this process holds
	// itself, else it is State.
	Own   bool
	State S
}

// Order takes in an order, and ignores those that are not about going back.
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

// Given takes in a state that another process has sent for that generation.
func (r *Return[S]) Given(generation uint32, state S) {
	if r.order != nil && generation < r.order.Generation {
		return
	}
	if r.given == nil {
		r.given = make(map[uint32]S)
	}
	r.given[generation] = state
}

// Pending reports whether the process has to go back, or is on its way.
func (r *Return[S]) Pending() bool { return r.order != nil }

// Next says what process self does now.
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

// Did says that a step is done, and returns what the head is to hear. A step
// of an older order than the newest one counts for nothing.
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

// Describe says for people what the process does on its way back; it is empty
// if it goes forward.
func (r *Return[S]) Describe() string {
	if r.order == nil {
		return ""
	}
	doing := [...]string{"gives others their state", "waits for links to let go of its memory", "waits for its state", "is back", "waits for the others to be back"}[r.stage]
	return fmt.Sprintf("goes back to safe point %d (rollback %d): %s", r.order.Number, r.order.Generation, doing)
}
