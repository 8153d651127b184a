package head

import (
	"fmt"
	"slices"
)

// memberState is the state of a process, as its head knows it. An expected death
// (member.ending) is not part of it: a killed process counts as running until it has exited.
type memberState uint8

// The states, in their usual order.
const (
	chosen    memberState = iota // its slot is being decided
	starting                     // its agent was ordered to start it
	joined                       // the process has authenticated itself, and waits for its slot
	waiting                      // a spare that can get a slot
	promised                     // a spare whose slot is being decided
	arriving                     // has its slot, and waits for its state
	running                      // has its slot and its state
	finished                     // its program has returned
	dismissed                    // the job no longer needs the process; it was released or killed
	gone                         // the process has exited, and its verdict is being decided
	dead                         // the process was declared dead
	ended                        // the process has exited, and needs no verdict
)

func (s memberState) String() string {
	return [...]string{"chosen", "starting", "joined", "waiting", "promised", "arriving", "running", "finished",
		"dismissed", "gone", "dead", "ended"}[s]
}

// moves lists the states that may follow each state. A rollback takes the only step backwards,
// from finished to running.
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

// to moves a process to another state.
func (m *member) to(next memberState) {
	if !slices.Contains(moves[m.state], next) {
		panic(fmt.Sprintf("head: %v goes from %v to %v", m.process, m.state, next))
	}
	m.state = next
}

// there reports whether the process exists, or may exist.
func (s memberState) there() bool { return s >= starting && s <= dismissed }
