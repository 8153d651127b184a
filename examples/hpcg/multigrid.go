package main

import (
	"fmt"

	"github.com/intrahpc/intra"
)

// smoother is the order in which Gauss-Seidel processes the points.
type smoother int

const (
	natural smoother = iota
	slab
	colour
)

var smoothers = []string{"natural", "slab", "colour"}

func (s smoother) String() string { return smoothers[s] }

// precondition solves A·x = r approximately, for the r and x of this level, by one V-cycle.
func (l *level) precondition() error {
	if err := l.smooth(); err != nil {
		return err
	}
	if l.coarse == nil {
		return nil
	}
	if err := l.halo.exchange(l.p, l.x); err != nil {
		return err
	}
	l.restrict()
	if err := l.coarse.precondition(); err != nil {
		return fmt.Errorf("coarser level: %w", err)
	}
	l.prolong()
	if err := l.halo.exchange(l.p, l.x); err != nil {
		return err
	}
	l.smoothAgain()
	return nil
}

// smooth sets x to the result of one smoothing of the guess 0. The neighbours' points count
// as 0, too.
func (l *level) smooth() error {
	if l.slabs != nil {
		l.sweepFirst()
		return nil
	}
	if err := intra.Fetch(l.p, l.x); err != nil {
		return err
	}
	clear(l.x)
	l.relaxAll()
	return nil
}

// smoothAgain improves x by one smoothing. The neighbours' points keep their previous
// values.
func (l *level) smoothAgain() {
	if l.slabs != nil {
		l.sweepAgain()
		return
	}
	l.relaxAll()
}

// relaxAll relaxes all colours in ascending and then in descending order. The last colour
// is relaxed only once, because nothing has changed since.
func (l *level) relaxAll() {
	colours := len(l.order.starts) - 1
	for c := range colours {
		l.relax(c)
	}
	for c := colours - 2; c >= 0; c-- {
		l.relax(c)
	}
}
