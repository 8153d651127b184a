package direct

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// explore tries every order of events, but continues only once from each state that it
// reaches. It returns the number of states, and the first error with the events that led
// to it.
func explore(s shape, most int) (states int, wrong string) {
	seen := make(map[uint64]bool)
	path := []choice{}
	open := [][]choice{} // by step of the path: the choices not tried yet
	replay := func() *world {
		w := newWorld(s)
		for _, c := range path {
			w.do(c)
		}
		return w
	}
	w := newWorld(s)
	defer func() { w.close() }()
	for {
		next := w.choices()
		if len(next) == 0 {
			w.stuck()
		}
		if w.wrong != "" {
			return len(seen), fmt.Sprintf("%s\nafter %v", w.wrong, path)
		}
		if at := w.state(); seen[at] {
			next = nil
		} else if seen[at] = true; len(seen) > most {
			return len(seen), "too many states"
		}
		if len(next) > 0 {
			open = append(open, next[1:])
			path = append(path, next[0])
			w.do(next[0])
			continue
		}
		for len(open) > 0 && len(open[len(open)-1]) == 0 {
			open, path = open[:len(open)-1], path[:len(path)-1]
		}
		if len(open) == 0 {
			return len(seen), ""
		}
		last := len(open) - 1
		path[last] = open[last][0]
		open[last] = open[last][1:]
		w.close()
		w = replay()
	}
}

// walk runs the world in a random order.
func walk(s shape, seed uint64) (wrong string) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(s)
	defer w.close()
	var path []choice
	for {
		next := w.choices()
		// Deaths are rare, but large differences in speed are common.
		usual := slices.DeleteFunc(slices.Clone(next), func(c choice) bool { return c.kind == 'd' })
		if len(usual) == 0 || rnd.IntN(40) > 0 && len(usual) < len(next) {
			next = usual
		}
		if len(next) == 0 {
			w.stuck()
		}
		if w.wrong != "" {
			return fmt.Sprintf("seed %d: %s\nafter %v", seed, w.wrong, path)
		}
		if len(next) == 0 {
			return ""
		}
		c := next[rnd.IntN(len(next))]
		for range rnd.IntN(1 + rnd.IntN(12)) {
			if path = append(path, c); c.kind != 'g' {
				break
			}
			w.do(c)
			if !slices.Contains(w.choices(), c) || w.wrong != "" {
				c.kind = 0
				break
			}
		}
		if c.kind != 0 {
			path = append(path, c)
			w.do(c)
		}
	}
}

func TestSchedules(t *testing.T) {
	shapes := []shape{
		{replicas: 2, tasks: 1, sections: 2, deaths: 1, joins: 1},
		{replicas: 2, tasks: 1, sections: 2, deaths: 1, ways: true},
		{replicas: 2, tasks: 2, sections: 1, deaths: 1, own: true},
		{replicas: 2, tasks: 1, sections: 1, deaths: 1, elements: 2},
		{replicas: 2, tasks: 3, sections: 1, batches: true},
	}
	if os.Getenv("INTRA_SOAK") != "" {
		// Three replicas that may die, and may all run any task, have too many states. Random
		// walks cover those.
		shapes = append(shapes, shape{replicas: 2, tasks: 2, sections: 1, deaths: 1}, shape{replicas: 2, tasks: 1, sections: 2, deaths: 1},
			shape{replicas: 2, tasks: 2, sections: 2, deaths: 1},
			shape{replicas: 2, tasks: 2, sections: 2, deaths: 1, joins: 1}, shape{replicas: 2, tasks: 1, sections: 3, deaths: 2, joins: 1},
			shape{replicas: 2, tasks: 1, sections: 2, deaths: 1, joins: 1, ways: true},
			shape{replicas: 2, tasks: 2, sections: 2, deaths: 1, own: true}, shape{replicas: 3, tasks: 1, sections: 1, deaths: 2, own: true},
			shape{replicas: 2, tasks: 2, sections: 1, deaths: 1, elements: 2}, shape{replicas: 2, tasks: 1, sections: 2, deaths: 1, elements: 2},
			shape{replicas: 2, tasks: 1, sections: 2, deaths: 1, joins: 1, elements: 2},
			shape{replicas: 2, tasks: 3, sections: 1, deaths: 1, batches: true}, shape{replicas: 2, tasks: 3, sections: 1, deaths: 1}, shape{replicas: 3, tasks: 1, sections: 1})
	}
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) {
			states, wrong := explore(s, 50_000_000)
			require.Empty(t, wrong)
			t.Logf("%d states", states)
		})
	}
}

func (s shape) String() string {
	name := fmt.Sprintf("%d replicas, %d tasks, %d sections, %d deaths", s.replicas, s.tasks, s.sections, s.deaths)
	if s.joins > 0 {
		name += fmt.Sprintf(", %d joins", s.joins)
	}
	if s.elements > 0 {
		name += fmt.Sprintf(", stored by %d elements", s.elements)
	}
	if s.batches {
		name += ", in batches"
	}
	if s.own {
		name += ", one task run by all"
	}
	if s.ways {
		name += ", in several ways"
	}
	return name
}

func TestWalks(t *testing.T) {
	walks := 400
	if os.Getenv("INTRA_SOAK") != "" {
		walks = 1_000_000
	}
	for _, s := range []shape{
		{replicas: 2, tasks: 4, sections: 3, deaths: 1},
		{replicas: 3, tasks: 3, sections: 2, deaths: 2},
		{replicas: 4, tasks: 5, sections: 3, deaths: 3},
		{replicas: 3, tasks: 3, sections: 4, deaths: 3, joins: 3},
		{replicas: 3, tasks: 3, sections: 4, deaths: 3, joins: 3, ways: true},
		{replicas: 3, tasks: 4, sections: 4, deaths: 3, joins: 3, ways: true, own: true},
		{replicas: 3, tasks: 3, sections: 4, deaths: 3, joins: 3, elements: 2},
		{replicas: 4, tasks: 4, sections: 3, deaths: 3, elements: 3},
		{replicas: 2, tasks: 5, sections: 3, deaths: 1, batches: true},
		{replicas: 3, tasks: 6, sections: 4, deaths: 3, joins: 3, batches: true},
	} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(walks) {
				require.Empty(t, walk(s, seed))
			}
		})
	}
}

// TestRulesAreNeeded leaves out one rule at a time.
func TestRulesAreNeeded(t *testing.T) {
	for name, r := range map[string]rule{"the gate": noGate, "run first, then store": noSnapshot,
		"results of dead replicas are taken": neverTake, "claims end only with their owner": hastyTaking, "a joiner has words of its own": oldWords,
		"no replica can claim a task that all run": sharedOwn, "mark, then store": storedFirst, "compute, then mark": computedLast,
		"only the rest is run": fromStart, "a replica is woken when a claim is given back": sleepOn} {
		t.Run(name, func(t *testing.T) {
			s := shape{replicas: 2, tasks: 1, sections: 2, deaths: 1, rule: r, own: r == sharedOwn}
			switch r {
			case oldWords:
				s.joins = 1
			case storedFirst, computedLast, fromStart:
				s.elements = 2
			case sleepOn:
				s = shape{replicas: 3, tasks: 1, sections: 1, rule: r}
			}
			_, wrong := explore(s, 5_000_000)
			require.NotEmpty(t, wrong)
			require.NotContains(t, wrong, "too many states")
			t.Log(strings.SplitN(wrong, "\n", 2)[0])
		})
	}
}
