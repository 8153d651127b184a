package head

import (
	"fmt"
	"slices"
)

// memberState is how far a process has come, as its head sees it. What it is about to
// die of, if that is known before it has (member.ending), is no part of it: a
// process that was killed runs until it is gone.
type memberState uint8

// The states, in the order in which they usually come.
const (
	chosen    memberState = iota // its place is being decided
	starting                     // its agent was told to start it
	joined                       // it has proved itself, and waits to hear of a place
	waiting                      // a spare that can be given a place
	promised                     // a spare for which that is being decided
	arriving                     // knows its place, and waits for its state
	running                      // knows its place, and has its state
	finished                     // and its program has returned
	dismissed                    // nobody needs it any more; it was told to go, or killed
	gone                         // it is no more, and the verdict is being decided
	dead                         // it was declared dead
	ended                        // it is no more, and needs no verdict
)

func (s memberState) String() string {
	return [...]string{"chosen", "starting", "joined", "waiting", "promised", "arriving", "running", "finished",
		"dismissed", "gone", "dead", "ended"}[s]
}

// moves says what comes after each state. Only a rollback goes back in it: from
// finished to running.
var moves = map[memberState][]memberState{
	chosen:    {starting, dismissed, dead, ended},
	starting:  {joined, dismissed, gone, dead, ended},
	joined:    {waiting, arriving, running, dismissed, gone, dead, ended},
	waiting:   {promised, ended},
	promised:  {arriving, dismissed, gone, dead, ended},
	arriving:  {running, dismissed, gone, dead, ended},
	running:   {finished, gone, dead, ended},
	finished:  {running, gone, dead, ended},
	dismissed: {dead, ended},
	gone:      {dead},
}

// to moves a process on to another state.
func (m *member) to(next memberState) {
	if !slices.Contains(moves[m.state], next) {
		panic(fmt.Sprintf("head: %v goes from %v to %v", m.process, m.state, next))
	}
	m.state = next
}

// there reports whether there is, or may be, a process.
func (s memberState) there() bool { return s >= starting && s <= dismissed }
