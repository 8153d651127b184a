//go:build linux

package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/jobtest"

	intraruntime "github.com/intrahpc/intra/runtime"
)

var (
	taskDrift = intra.Register("direct.drift")
	taskLater = intra.Register("direct.later")
	taskMixed = intra.Register("direct.mixed")
)

const drifting = 1 << 14 // number of particles

// drift is a program whose sections push particles in place, in arrays of intra.Alloc. It
// reduces, and prints a hash of the particles. what selects a fault or a variant:
//
//   - "order": one replica allocates in another order.
//   - "heap": one replica allocates outside of shared memory.
//   - "late": one replica is delayed by far more than a section.
//   - "again": the program makes its arrays again in each round.
//   - "state": the program can continue in another process.
func drift(p *intra.Process, what string) error {
	var x, v []float64
	if what == "order" && p.Replica() == 1 {
		v, x = intra.Alloc[float64](drifting), intra.Alloc[float64](drifting)
	} else {
		x, v = intra.Alloc[float64](drifting), intra.Alloc[float64](drifting)
	}
	if what == "heap" && p.Replica() == 1 {
		x = make([]float64, drifting)
	}
	heap := make([]float64, drifting)
	for i := range x {
		x[i], v[i] = float64(i), 1/float64(i+3)
	}
	sum, counts := []float64{0}, make([]float64, 4)
	rounds, round := 16, 0
	switch what {
	case "late":
		rounds = 60 // these rounds take longer than the delay
	case "state":
		rounds = 400 // these rounds take longer than the replacement of a process
	}
	if p.Restored() {
		v = nil // v is allocated when it is filled in
	}
	for name, a := range map[string]*[]float64{"x": &x, "v": &v, "heap": &heap, "sum": &sum, "counts": &counts} {
		intra.Protect(p, name, a)
	}
	intra.Protect(p, "round", &round)
	for ; round < rounds; round++ {
		if what == "state" {
			if err := p.SafePoint(); err != nil {
				return err
			}
		}
		if what == "again" {
			x, v = append(intra.Alloc[float64](drifting)[:0], x...), append(intra.Alloc[float64](drifting)[:0], v...)
		}
		task, second := taskDrift, v
		switch {
		case round == 8 && what == "late" && p.Replica() == 1:
			time.Sleep(100 * time.Millisecond)
		case round == 5:
			task, second = taskMixed, heap // not all arrays are in shared memory
		}
		if round > 8 {
			task = taskLater
		}
		s := p.Section()
		for lo, hi := range intra.Blocks(drifting, p.Tasks()) {
			x, v := x[lo:hi], second[lo:hi]
			cell, total := intra.Reduce(s, "sum", &sum[0], func(a, b float64) float64 { return a + b })
			part, classes := intraruntime.ReduceSlice(s, "counts", counts, intraruntime.OpAdd[float64]())
			s.Launch(task, func() {
				counts := part.Slice()
				*cell = 0
				time.Sleep(500 * time.Microsecond) // so that the other processes progress on a busy machine, too
				for i := range x {
					v[i] = float64(v[i]*0.75) + float64(x[i]*0.125)
					x[i] = float64(x[i]*0.875) - float64(v[i]*0.5) + 1/float64(i+1)
					*cell += x[i]
					counts[i%len(counts)]++
				}
			}, intra.InOut("x", x), intra.InOut("v", v), total, classes)
		}
		if err := s.End(); err != nil {
			return err
		}
	}
	h := fnv.New64a()
	for _, a := range [][]float64{x, v, heap, sum, counts} {
		h.Write(unsafe.Slice((*byte)(unsafe.Pointer(&a[0])), 8*len(a)))
	}
	fmt.Printf("%016x\n", h.Sum64())
	return nil
}

func storer(t *testing.T, flags, what string) result {
	t.Helper()
	_, wait := start(t, flags, os.Args[0], asStorer, what)
	return wait()
}

// stored returns how often results of a type of task were stored into an array of a peer.
func (r result) stored(task string) int64 { return r.TaskTypes["direct."+task].Stored }

func TestDirect(t *testing.T) {
	want := storer(t, "-r 1", "")
	require.Zero(t, want.code, want.stderr)
	for _, flags := range jobtest.Some([]string{"-r 1", "-r 2", "-r 3", "-r 4", "-r 2 -threads 3", "-r 2 -link unix", "-degrees 2,1,3"}, 1, 4, 6) {
		r := storer(t, "-direct "+flags, "")
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, strings.Repeat(want.stdout, 1+strings.Count(flags, ",")), r.stdout, flags)
		require.Zero(t, r.stored("mixed"), flags)
		// On a busy machine one replica may get no processor time, and the other runs all
		// tasks. Then the test tries again.
		for try := 0; flags != "-r 1" && r.stored("drift") == 0; try++ {
			require.Less(t, try, 10, "%s: nothing is stored", flags)
			r = storer(t, "-direct "+flags, "")
			require.Zero(t, r.code, r.stderr)
		}
	}
	for _, flags := range jobtest.Some([]string{"-direct=off", "-direct off", "-direct=false", "-sched static", "-link tcp", "-limit 1GB/s"}, 0, 3, 4) {
		r := storer(t, "-r 2 "+flags, "")
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, want.stdout, r.stdout, flags)
		require.Zero(t, r.stored("drift"), flags)
	}
}

// until runs a program until results of a type of task have been stored. On a busy machine one
// replica may get no processor time. Then no results are stored.
func until(t *testing.T, task, flags, what string) (r result) {
	t.Helper()
	for range 10 {
		r = storer(t, flags, what)
		require.Zero(t, r.code, "%s: %s", flags, r.stderr)
		if r.stored(task) > 0 {
			return r
		}
	}
	require.Fail(t, "nothing is stored", flags)
	return r
}

// Replicas store by default.
func TestStoresByDefault(t *testing.T) {
	want := storer(t, "-r 1", "").stdout
	for _, flags := range []string{"-r 2", "-r 2 -direct=auto", "-direct auto -r 3", "-r 2 -direct on", "-r 2 -sched adaptive"} {
		r := until(t, "drift", flags, "")
		require.Equal(t, want, r.stdout, flags)
		require.NotContains(t, r.stderr, "stored")
	}
}

// Freed arrays are reused, in a different order on each replica.
func TestStoresIntoReusedArrays(t *testing.T) {
	want := storer(t, "-r 1", "again").stdout
	require.Equal(t, want, until(t, "later", "-r 2", "again").stdout)
}

// A replacement process shares memory with the other replicas.
func TestStoresAfterAReplacement(t *testing.T) {
	want := storer(t, "-r 1", "state").stdout
	for flags, replacements := range map[string]int{
		"-r 2 -replace -kill 0.1@section:0":                     1, // before any result was stored
		"-r 2 -spares 1 -kill 0.0@task:0":                       1,
		"-degrees 2,1 -replace -backup 20 -kill 1.0@section:60": 1, // all processes roll back
	} {
		r := until(t, "later", flags, "state")
		require.Equal(t, strings.Repeat(want, 1+strings.Count(flags, ",")), r.stdout, flags)
		require.Len(t, r.Replacements, replacements, flags)
		r.RequireFired(t)
	}
}

// By default the test runs some kills, each with one value of -direct. With INTRA_MATRIX it
// runs all kills with both values.
func TestKillsAmongStores(t *testing.T) {
	want := storer(t, "-r 1", "").stdout
	type kills struct {
		degree int
		at     []string
	}
	for i, c := range jobtest.Some([]kills{
		{2, []string{"0.0@section:0"}}, {2, []string{"0.1@section:12"}},
		{2, []string{"0.0@task:0"}}, {2, []string{"0.1@task:0"}}, {2, []string{"0.0@task:7"}}, {2, []string{"0.1@task:20"}},
		{2, []string{"0.0@update:0"}}, {2, []string{"0.1@update:0"}}, {2, []string{"0.0@update:5"}}, {2, []string{"0.1@update:11"}},
		{3, []string{"0.0@update:2", "0.2@update:3"}}, {3, []string{"0.1@task:3", "0.2@update:2"}},
		{3, []string{"0.0@section:3", "0.1@update:1"}}, {4, []string{"0.0@task:2", "0.2@update:4", "0.3@section:6"}},
	}, 0, 3, 7, 8, 11, 13) {
		for _, direct := range jobtest.Some([]string{"on", "auto"}, i%2) {
			flags := fmt.Sprintf("-direct=%s -r %d -kill %s", direct, c.degree, strings.Join(c.at, " -kill "))
			r := storer(t, flags, "")
			require.Zero(t, r.code, "%s: %s", flags, r.stderr)
			require.Equal(t, want, r.stdout, flags)
			r.RequireFired(t)
		}
	}
}

// A replica falls behind, and its peers wait for it. Later it shares again.
func TestStoresAfterALag(t *testing.T) {
	r := storer(t, "-direct -r 2", "late")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, storer(t, "-r 1", "late").stdout, r.stdout)
	require.Positive(t, r.stored("later"))
}

// Arrays may have different addresses on the replicas.
func TestArraysInDifferentOrder(t *testing.T) {
	want := storer(t, "-r 1", "order").stdout
	for _, flags := range []string{"-direct -r 2", "-r 2"} {
		r := until(t, "later", flags, "order")
		require.Equal(t, want, r.stdout)
		require.NotContains(t, r.stderr, "are sent, not stored")
	}
}

// If one replica has allocated its arrays outside of shared memory, results are sent, and a
// note names the source line.
func TestArraysElsewhere(t *testing.T) {
	want := storer(t, "-r 1", "heap").stdout
	for _, flags := range []string{"-direct -r 2", "-r 2"} {
		r := storer(t, flags, "heap")
		for try := 0; !strings.Contains(r.stderr, "not stored"); try++ { // one replica may have been too far ahead to share
			require.Less(t, try, 10, r.stderr)
			r = storer(t, flags, "heap")
		}
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, want, r.stdout)
		require.Zero(t, r.stored("drift"))
		require.Regexp(t, `intrarun/direct_test.go:\d+: results of direct.drift are sent, not stored: only on some replicas are the arrays that it writes made by intra.Alloc`, r.stderr)
	}
}
