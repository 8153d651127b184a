package main

import "math/bits"

// patterns are the names of the patterns.
var patterns = []string{"trivial", "stencil_1d", "fft", "tree", "random_nearest"}

// pattern is an index in patterns.
type pattern int

const (
	trivial pattern = iota
	stencil1D
	fft
	tree
	randomNearest
)

func (p pattern) String() string { return patterns[p] }

// drawn is the number of steps after which the sources of random_nearest repeat.
const drawn = 8

// graph determines the tasks and their sources.
type graph struct {
	pattern  pattern
	width    int
	radix    int     // of random_nearest: number of points from which sources are drawn
	fraction float64 // of random_nearest: probability of a source
	seed     uint64
}

// points returns the number of points of a step.
func (g *graph) points(step int) int {
	if g.pattern == tree && step < bits.Len(uint(g.width)) {
		return min(1<<step, g.width)
	}
	return g.width
}

// levels returns how often 1 has to be doubled until it is at least the width, at least 1.
func (g *graph) levels() int { return max(1, bits.Len(uint(g.width-1))) }

// kind returns a number that is equal for steps with equal points and sources. Numbers are
// below kinds.
func (g *graph) kind(step int) int {
	switch {
	case step == 0 || g.pattern == trivial:
		return 0
	case g.pattern == fft:
		return 1 + (step-1)%g.levels()
	case g.pattern == tree:
		return 1 + min(step-1, g.levels())
	case g.pattern == randomNearest:
		return 1 + (step-1)%drawn
	}
	return 1
}

func (g *graph) kinds() int { return 1 + max(g.levels()+1, drawn) }

// sources returns the points of the step before whose values a point needs, in ascending
// order.
func (g *graph) sources(step, point int) []int {
	if step == 0 {
		return nil
	}
	near := func(distance int) []int {
		var all []int
		for _, at := range []int{point - distance, point, point + distance} {
			if at >= 0 && at < g.width {
				all = append(all, at)
			}
		}
		return all
	}
	switch g.pattern {
	case stencil1D:
		return near(1)
	case fft:
		return near(1 << (g.kind(step) - 1))
	case tree:
		return []int{point / 2}
	case randomNearest:
		var all []int
		for at := max(point-g.radix/2, 0); at < min(point-g.radix/2+g.radix, g.width); at++ {
			if at == point || g.random(uint64(g.kind(step)), uint64(point), uint64(at)) < g.fraction {
				all = append(all, at)
			}
		}
		return all
	}
	return nil
}

// start returns the value from which a point's computation begins, in addition to its
// sources.
func (g *graph) start(step, point int) float64 {
	return g.random(1<<32, uint64(step), uint64(point))
}

// random returns a number from 0 to 1 that depends only on the seed and three words.
func (g *graph) random(words ...uint64) float64 {
	h := g.seed
	for _, w := range words {
		h = mix(h, w)
	}
	return float64(h>>11) / (1 << 53)
}

// mix adds a word to a hash.
func mix(h, word uint64) uint64 {
	h = (h ^ word) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
