package fused

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
	"github.com/intrahpc/intra/testdata/generate/same"
)

const n, passes = 16 << 10, 3 // updates of 8 KiB

// counts tells how often each body ran.
type counts struct{ first, second atomic.Int64 }

func (c *counts) ran(second bool) {
	if second {
		c.second.Add(1)
	} else {
		c.first.Add(1)
	}
}

func TestSteps(t *testing.T) {
	var alone counts
	want := same.Sum(Steps(nil, n, passes, alone.ran))
	require.Equal(t, "fa13a1714da95623", want)
	require.Zero(t, alone.second.Load(), "there is nowhere to store it twice")
	kills := []string{"", "0.0@section:3", "0.1@section:4", "0.0@task:2", "0.1@task:9", "0.1@task:70", "0.1@update:0", "0.0@update:5", "0.1@update:31"}
	for _, link := range []string{"shm", "unix"} {
		for _, replicas := range []int{1, 2, 3} {
			for _, kill := range kills {
				if kill != "" && (replicas == 1 || !same.Tagged) {
					continue // nobody would be left, or no task runs
				}
				t.Run(fmt.Sprintf("%s %d replicas %s", link, replicas, kill), func(t *testing.T) {
					var c counts
					var mu sync.Mutex
					var sums []string
					intratest.Run(t, intra.Spec{Replicas: replicas, Link: link}, func(p *intra.Process) error {
						sum := same.Sum(Steps(p, n, passes, c.ran))
						mu.Lock()
						defer mu.Unlock()
						sums = append(sums, sum)
						return nil
					}, intratest.Kills(strings.Fields(kill)...), intratest.Sched("static"))
					require.GreaterOrEqual(t, len(sums), replicas-len(strings.Fields(kill)))
					for _, sum := range sums {
						require.Equal(t, want, sum)
					}
					require.Positive(t, c.first.Load()+c.second.Load())
					if same.Tagged && link == "shm" && replicas > 1 {
						require.Positive(t, c.second.Load())
					} else {
						require.Zero(t, c.second.Load())
					}
				})
			}
		}
	}
}

// Checked mode runs both bodies of every kernel and finds them alike.
func TestChecked(t *testing.T) {
	var c counts
	intratest.Check(t, func(s *intra.Section) {
		x, y := []float64{1, 2, 3}, make([]float64, 8)
		launchWaxpby(s, c.ran, 2, x, 3, x, y[:3])
		LaunchScale(s, c.ran, 2, x, y[3:6])
		launchGridSmooth(s, &Grid{U: x, V: make([]float64, 3), Ran: c.ran}, 1, 3)
		LaunchVecFill(s, &Vec[float64]{Data: y, Ran: c.ran}, 2, 6, 8)
	})
	require.Positive(t, c.first.Load())
	require.EqualValues(t, 4, c.second.Load())
}
