//go:build system

package programs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// proxies are programs whose output contains all bits of their results.
var proxies = []struct {
	name, folder, args, times string
	points                    map[string]int // how often a process of two ranks passes each kill point
	backup                    int            // safe points between backups
	safe                      int            // a section after the first backup
	long                      bool           // runs only with INTRA_MATRIX
}{
	{"HPCG natural", "examples/hpcg", "-smoother natural" + hpcgSize, hpcgTimes, hpcgPoints, 20, 2000, true},
	{"HPCG slab", "examples/hpcg", "-smoother slab" + hpcgSize, hpcgTimes, hpcgPoints, 20, 2000, false},
	{"HPCG colour", "examples/hpcg", "-smoother colour" + hpcgSize, hpcgTimes, hpcgPoints, 20, 2000, true},
	{"miniGhost", "examples/minighost", "-stencil 3d27 -nx 32 -ny 24 -nz 16 -vars 3 -steps 20", "seconds times",
		map[string]int{"section": 110, "task": 400, "update": 400, "message": 70}, 2, 60, true},
	{"AMG", "examples/amg", "-problem 7pt -nx 16 -ny 16 -nz 16", "seconds times", amgPoints, 2, 420, true},
	{"AMG, GMRES", "examples/amg", "-problem 27pt -solver gmres -nx 16 -ny 16 -nz 16", "seconds times", amgPoints, 2, 420, true},
}

const hpcgSize, hpcgTimes = " -nx 16 -ny 16 -nz 16", "seconds gflops times"

var (
	hpcgPoints = map[string]int{"section": 3000, "task": 4500, "update": 4500, "message": 800}
	amgPoints  = map[string]int{"section": 400, "task": 1000, "update": 1000, "message": 400}
)

// Proxies have the bits of a run without replicas with every degree, link and schedule,
// whichever processes die and whether or not they are replaced. Successive cases use
// different links and schedules. With INTRA_MATRIX set (`make matrix`) all combinations
// run.
func TestProxies(t *testing.T) {
	all := jobtest.Matrix()
	for _, x := range proxies {
		if x.long && !all {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			program := jobtest.Program{Binaries: &binaries, Folder: x.folder, Args: x.args, Times: x.times, Check: valid}
			var cases []jobtest.Case
			add := func(kills, flags string, args ...any) {
				cases = append(cases, jobtest.Case{Flags: fmt.Sprintf(flags, args...), Kills: kills})
			}
			for i, degrees := range jobtest.Some([]string{
				"-r 1", "-r 2", "-r 3", "-n 2 -r 1", "-n 2 -r 2", "-n 2 -r 3", "-degrees 1,2", "-degrees 3,1", "-degrees 2,1,3,2",
			}, 0, 5, 8) {
				for j, link := range []string{"shm", "tcp"} {
					for k, policy := range []string{"static", "adaptive", "replicate"} {
						if all || j == i%2 && k == (i+j)%3 {
							add("", "%s -link %s -sched %s", degrees, link, policy)
						}
					}
				}
			}
			rng := rand.New(rand.NewPCG(20, 2016))
			for i := range jobtest.Count(4, 32) {
				point := []string{"section", "task", "update", "message"}[i%4]
				link := []string{"shm", "tcp", "unix", "shm -ring 4096", "shm -threads 2"}[i%5]
				replace := ""
				if i/4%2 != i%2 {
					replace = " -replace"
				}
				add(fmt.Sprintf("%d.%d@%s:%d", rng.IntN(2), rng.IntN(2), point, rng.IntN(x.points[point])), "-n 2 -r 2 -sched static -link %s%s", link, replace)
			}
			add("", "-n 2 -r 2 -direct")
			add(fmt.Sprintf("0.1@section:20 1.0@section:%d", x.safe), "-n 2 -r 2 -direct")
			add(fmt.Sprintf("1.0@section:%d", x.safe), "-n 2 -r 1 -spares 1 -backup %d", x.backup)
			add(fmt.Sprintf("1.0@section:%d", x.safe), "-degrees 2,1 -replace -backup %d", x.backup)
			program.Same(t, cases...)
		})
	}
}

// valid checks that a program does not itself report a wrong result.
func valid(t testing.TB, line []byte) {
	t.Helper()
	var r map[string]any
	require.NoError(t, json.Unmarshal(line, &r))
	for _, name := range []string{"valid", "verified", "converged"} {
		require.NotEqual(t, false, r[name], string(line))
	}
}
