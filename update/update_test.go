package update_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// A window outside of its slice is an error that names the clause and the elements.
func TestWindow(t *testing.T) {
	x := []float64{0, 1, 2, 3, 4}
	for _, c := range []struct {
		lo, hi int
		err    string
	}{
		{0, 5, ""}, {2, 4, ""}, {3, 3, ""}, {5, 5, ""},
		{-1, 2, "in(x[f():g()]): there are no elements -1 to 2 of 5"},
		{2, 6, "in(x[f():g()]): there are no elements 2 to 6 of 5"},
		{4, 3, "in(x[f():g()]): there are no elements 4 to 3 of 5"},
	} {
		r := update.Window("x[f():g()]", x, c.lo, c.hi)
		if c.err != "" {
			require.EqualError(t, r.Err(), c.err)
			continue
		}
		require.NoError(t, r.Err())
		require.Equal(t, update.In, r.Mode)
		require.Equal(t, c.hi-c.lo, r.Len())
		require.Len(t, r.Array(), 8*len(x))
	}
}

func TestPointerFree(t *testing.T) {
	type plain struct {
		A [3]float64
		B struct{ C uint8 }
	}
	type holder struct {
		A int
		B struct{ Names []string }
	}
	require.NoError(t, errOf(update.Slice(update.Out, "x", []plain{{}})))
	require.NoError(t, errOf(update.Slice(update.Out, "x", []complex128{1})))
	require.NoError(t, errOf(update.Slice(update.Out, "x", [][0]*int{{}})))
	for want, r := range map[string]update.Region{
		"out(x): type update_test.holder holds pointers: update_test.holder.B.Names is a slice": update.Slice(update.Out, "x", []holder{{}}),
		"inout(x): type *int holds pointers: *int is a ptr":                                     update.Slice(update.InOut, "x", []*int{nil}),
		"in(f): type func() holds pointers: func() is a func":                                   update.Slice(update.In, "f", []func(){nil}),
		"in(x): type map[int]int holds pointers: map[int]int is a map":                          update.Slice(update.In, "x", []map[int]int{}),
		"in(x): type interface {} holds pointers: interface {} is a interface":                  update.Slice(update.In, "x", []any{1}),
	} {
		require.EqualError(t, r.Err(), want)
		require.ErrorIs(t, r.Err(), update.ErrPointers)
	}
	require.ErrorContains(t, errOf(update.Var(update.Out, "now", &time.Time{})), "use UnixNano")
	require.EqualError(t, errOf(update.Var[int](update.Out, "n", nil)), "out(n): nil *int")
}

func errOf(r update.Region) error { return r.Err() }

// The checker has the same result as a comparison of all pairs.
func TestOverlapAgainstAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	memory := make([]byte, 60)
	var c update.Checker
	found := 0
	for range 20_000 {
		tasks := make([][]update.Region, 1+rng.IntN(5))
		for i := range tasks {
			for range 1 + rng.IntN(3) {
				lo := rng.IntN(len(memory))
				hi := lo + rng.IntN(min(9, len(memory)-lo+1))
				tasks[i] = append(tasks[i], update.Slice(update.Mode(rng.IntN(5)), "m", memory[lo:hi]))
			}
		}
		err := c.Check(len(tasks), func(i int) []update.Region { return tasks[i] })
		if overlapping(tasks) {
			require.Error(t, err)
			found++
		} else {
			require.NoError(t, err)
		}
	}
	require.Greater(t, found, 1000)
}

// The checker also agrees with a comparison of all pairs if the tasks of a section have alike
// regions, as in a loop: blocks of an array, or the same memory in all tasks.
func TestOverlapOfLoopsAgainstAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	memory := make([]byte, 200)
	var c update.Checker
	var independent, overlap int
	for range 20_000 {
		tasks := make([][]update.Region, 1+rng.IntN(6))
		for range 1 + rng.IntN(4) {
			mode, at, step, size := update.Mode(rng.IntN(5)), rng.IntN(150), rng.IntN(8), rng.IntN(9)
			for i := range tasks {
				lo := at + i*step
				if rng.IntN(20) == 0 {
					lo += rng.IntN(3)
				}
				n := size
				if rng.IntN(20) == 0 {
					n = 0
				}
				tasks[i] = append(tasks[i], update.Slice(mode, "m", memory[lo:lo+n]))
			}
		}
		err := c.Check(len(tasks), func(i int) []update.Region { return tasks[i] })
		require.Equal(t, scratched(tasks), c.Scratched(len(tasks), func(i int) []update.Region { return tasks[i] }))
		if overlapping(tasks) {
			require.Error(t, err)
			overlap++
		} else {
			require.NoError(t, err)
			independent++
		}
	}
	require.Greater(t, independent, 5000)
	require.Greater(t, overlap, 5000)
}

func overlapping(tasks [][]update.Region) bool {
	for i, a := range tasks {
		for _, b := range tasks[i+1:] {
			for _, ra := range a {
				for _, rb := range b {
					same := ra.Mode == rb.Mode && (ra.Mode == update.In || ra.Mode == update.Scratch)
					if !same && shared(ra.Mem, rb.Mem) {
						return true
					}
				}
			}
		}
	}
	return false
}

func scratched(tasks [][]update.Region) bool {
	for i, a := range tasks {
		for _, b := range tasks[i+1:] {
			for _, ra := range a {
				for _, rb := range b {
					if ra.Mode == update.Scratch && rb.Mode == update.Scratch && shared(ra.Mem, rb.Mem) {
						return true
					}
				}
			}
		}
	}
	return false
}

func shared(a, b []byte) bool {
	for i := range a {
		for k := range b {
			if &a[i] == &b[k] {
				return true
			}
		}
	}
	return false
}

func TestAliased(t *testing.T) {
	p, r := make([]float64, 8), make([]float64, 8)
	regions := []update.Region{
		update.Slice(update.In, "r", r), update.Slice(update.In, "p", p[:5]),
		update.Slice(update.Out, "w", p[4:]), update.Slice(update.Out, "z", make([]float64, 2)),
	}
	update.Aliased(regions)
	require.Equal(t, update.InOut, regions[2].Mode, "it shares an element with an in")
	require.Equal(t, update.Out, regions[3].Mode)
}

func TestPayloadAndApply(t *testing.T) {
	regions := func() []update.Region {
		return []update.Region{
			update.Slice(update.Out, "a", []int32{1, 2, 3}), update.Slice(update.In, "b", []int32{4}),
			update.Slice(update.InOut, "c", []uint8{5, 6}), update.Slice(update.Scratch, "d", []int32{7}),
			update.Slice(update.Reduce, "e", []float32{8}),
		}
	}
	from, to := regions(), regions()
	for _, r := range to {
		clear(r.Mem)
	}
	var payload []byte
	for _, piece := range update.Payload(nil, from) {
		payload = append(payload, piece...)
	}
	require.Len(t, payload, update.Size(from))
	require.NoError(t, update.Apply(to, payload))
	for i, r := range to {
		if r.Mode.Written() {
			require.Equal(t, from[i].Mem, r.Mem)
		} else {
			require.Equal(t, make([]byte, len(r.Mem)), r.Mem, "%s is not part of an update", r.Name)
		}
	}
	require.EqualError(t, update.Apply(to, payload[1:]), "an update of 17 bytes for a task that writes 18")
}

func TestSignature(t *testing.T) {
	sum := func(task string, regions ...update.Region) uint64 {
		var s update.Signature
		s.Add(update.TypeSum(task), regions)
		return s.Sum()
	}
	x, small := make([]float64, 100), []float64{1, 2}
	base := sum("k", update.Slice(update.In, "x", x), update.Slice(update.In, "s", small))
	require.Equal(t, base, sum("k", update.Slice(update.In, "x", make([]float64, 100)), update.Slice(update.In, "s", []float64{1, 2})), "addresses do not matter")
	x[7] = 1
	require.Equal(t, base, sum("k", update.Slice(update.In, "x", x), update.Slice(update.In, "s", small)), "values of arrays do not matter")
	require.NotEqual(t, base, sum("l", update.Slice(update.In, "x", x), update.Slice(update.In, "s", small)))
	require.NotEqual(t, base, sum("k", update.Slice(update.In, "x", x[:99]), update.Slice(update.In, "s", small)))
	require.NotEqual(t, base, sum("k", update.Slice(update.In, "x", x), update.Slice(update.In, "s", []float64{1, 3})))
	require.NotEqual(t, base, sum("k", update.Slice(update.InOut, "x", x), update.Slice(update.In, "s", small)))
}

func TestSnapshot(t *testing.T) {
	mem := []byte{1, 2, 3}
	var s update.Snapshot
	s.Take(mem)
	copy(mem, "torn")
	s.Restore()
	require.Equal(t, []byte{1, 2, 3}, mem)
}

func FuzzParseMessage(f *testing.F) {
	m := update.Message{Kind: update.KindUpdate, Section: 7, Task: 3, Tasks: 16, Signature: 9}
	h := m.Header(1)
	var b [transport.HeaderSize]byte
	h.Encode(&b)
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, data []byte) {
		var b [transport.HeaderSize]byte
		copy(b[:], data)
		var h transport.Header
		if h.Decode(&b) != nil {
			return
		}
		m, err := update.ParseMessage(&h)
		if err != nil {
			require.ErrorIs(t, err, update.ErrMessage)
			return
		}
		if m.Kind == update.KindUpdate || m.Kind == update.KindClaim {
			require.Less(t, m.Task, m.Tasks)
			require.GreaterOrEqual(t, m.Task, 0)
		}
		again := m.Header(h.Incarnation)
		require.Equal(t, h.Args, again.Args)
	})
}

// TestForget: a region that has dropped its memory has none until Set. After Set the region equals
// its original.
func TestForget(t *testing.T) {
	var arguments struct{ a, b float64 }
	w := make([]float64, 4)
	regions := []update.Region{update.Var(update.In, "b", &arguments.b), update.Slice(update.In, "r", w), update.Slice(update.Out, "w", w), update.Part(w, update.Slice(update.Out, "part", w[1:2])), update.Reaches("v", w)}
	made := slices.Clone(regions)
	update.Aliased(regions)
	require.Equal(t, update.InOut, regions[2].Mode)
	for i := range regions {
		regions[i].Forget(unsafe.Pointer(&arguments), unsafe.Sizeof(arguments))
	}
	require.Equal(t, made[0], regions[0])
	for _, r := range regions[1:] {
		require.Nil(t, r.Mem, r.Name)
		require.Empty(t, r.Array(), r.Name)
	}
	v, ok := regions[4].Reach()
	require.True(t, ok)
	require.Nil(t, v)
	require.Equal(t, update.InOut, regions[2].Mode)
	update.Set(&regions[1], w)
	update.Set(&regions[2], w)
	require.Equal(t, made[1:3], regions[1:3])
}
