package main

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
)

// smoother is the order in which Gauss-Seidel takes the points.
type smoother int

const (
	natural smoother = iota
	slab
	colour
)

var smoothers = []string{"natural", "slab", "colour"}

func (s smoother) String() string { return smoothers[s] }

// precondition solves A·x = r roughly, for the r and x of this level: one V-cycle.
func (l *level) precondition(world *comm.Comm) error {
	l.smooth()
	if l.coarse == nil {
		return nil
	}
	if err := l.halo.exchange(world, l.x); err != nil {
		return err
	}
	l.restrict()
	if err := l.coarse.precondition(world); err != nil {
		return fmt.Errorf("coarser level: %w", err)
	}
	l.prolong()
	if err := l.halo.exchange(world, l.x); err != nil {
		return err
	}
	l.smoothAgain()
	return nil
}

// smooth sets x to what one smoothing makes of the guess 0: nothing is known of the
// neighbours' points either.
func (l *level) smooth() {
	if l.slabs != nil {
		l.sweepFirst()
		return
	}
	clear(l.x)
	l.relaxAll()
}

// smoothAgain improves x by one smoothing. The neighbours' points keep the values
// that they had before.
func (l *level) smoothAgain() {
	if l.slabs != nil {
		l.sweepAgain()
		return
	}
	l.relaxAll()
}

// relaxAll takes the colours in turn, there and back. The last one is its own
// way back: nothing has changed since.
func (l *level) relaxAll() {
	colours := len(l.order.starts) - 1
	for c := range colours {
		l.relax(c)
	}
	for c := colours - 2; c >= 0; c-- {
		l.relax(c)
	}
}
