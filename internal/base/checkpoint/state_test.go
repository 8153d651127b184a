package checkpoint_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
)

type particle struct {
	X, V [3]float64
	ID   int32
}

// program holds variables of different kinds, as a program might register them.
type program struct {
	x       []float64
	ions    []particle
	iter    int
	best    particle
	random  rand.PCG
	started time.Time
	none    []int
}

func (p *program) register(t require.TestingT, s *checkpoint.State) {
	for _, v := range []struct {
		name string
		x    any
	}{
		{"x", &p.x}, {"ions", &p.ions}, {"iter", &p.iter}, {"best", &p.best},
		{"random", &p.random}, {"started", &p.started}, {"none", &p.none},
	} {
		require.NoError(t, s.Add(v.name, v.x), v.name)
	}
}

func newProgram(seed uint64, n int) *program {
	p := &program{iter: int(seed), random: *rand.NewPCG(seed, 2), started: time.Unix(int64(seed), 0).UTC()}
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		p.x = append(p.x, r.NormFloat64())
		p.ions = append(p.ions, particle{X: [3]float64{r.Float64()}, ID: r.Int32()})
	}
	p.best = particle{ID: int32(n)}
	return p
}

// travel sends an image as chunks in another order and a manifest, and returns the image
// that the receiver assembles.
func travel(t require.TestingT, im *checkpoint.Image) *checkpoint.Image {
	var keys []checkpoint.Key
	chunks := make(map[checkpoint.Key][]byte)
	for k, c := range im.Chunks() {
		keys = append(keys, k)
		chunks[k] = append([]byte(nil), c...)
	}
	a := checkpoint.NewAssembly(nil)
	for i := range keys {
		k := keys[len(keys)-1-i]
		require.NoError(t, a.Put(k, chunks[k]))
	}
	m, err := checkpoint.ParseManifest(im.Manifest().Append(nil))
	require.NoError(t, err)
	got, err := a.Finish(m)
	require.NoError(t, err)
	require.Equal(t, im.Bytes(), got.Bytes())
	return got
}

func TestStateIsRestored(t *testing.T) {
	for _, n := range []int{0, 1, 1000, checkpoint.ChunkBytes/8 - 1, checkpoint.ChunkBytes / 8, 3*checkpoint.ChunkBytes/8 + 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			saved := newProgram(7, n)
			saved.random.Uint64()
			var from checkpoint.State
			saved.register(t, &from)
			im, err := from.Image()
			require.NoError(t, err)

			restored := newProgram(3, n/2)
			restored.none = []int{4}
			var to checkpoint.State
			to.From(travel(t, im))
			restored.register(t, &to)
			require.NoError(t, to.Settle())
			require.Empty(t, restored.none)
			restored.none = nil
			if n == 0 {
				restored.x, restored.ions = nil, nil
			}
			require.Equal(t, saved, restored)
		})
	}
}

func TestMemoryOfTheSameLengthStaysInPlace(t *testing.T) {
	x := []float64{1, 2, 3}
	var s checkpoint.State
	require.NoError(t, s.Add("x", &x))
	im, err := s.Image()
	require.NoError(t, err)
	im = im.Clone(nil)
	whole := []float64{0, 0, 0, 9}
	part := whole[:3]
	var r checkpoint.State
	r.From(im)
	require.NoError(t, r.Add("x", &part))
	require.Equal(t, []float64{1, 2, 3, 9}, whole)
	long := whole[:]
	r = checkpoint.State{}
	r.From(im)
	long[0] = 5
	require.NoError(t, r.Add("x", &long))
	require.Equal(t, []float64{1, 2, 3}, long)
	require.Equal(t, 5.0, whole[0], "the old slice is not written")
}

type failing struct{ err error }

func (f *failing) MarshalBinary() ([]byte, error) { return []byte{1}, f.err }
func (f *failing) UnmarshalBinary([]byte) error   { return f.err }

func TestRefusedVariables(t *testing.T) {
	var (
		taken, number int
		none          *float64
		text          []string
		table         map[int]int
		where         struct{ next *int }
		empty         struct{}
		random        = new(rand.PCG)
		list          [][]float64
		integer       = new(big.Int)
	)
	tests := []struct {
		name string
		x    any
		want string
	}{
		{"", &number, "a name of 0 bytes, want 1 to 4096"},
		{strings.Repeat("n", 5000), &number, "a name of 5000 bytes"},
		{"taken", &number, "the name is taken already"},
		{"nil", none, "a nil pointer, want the address of a variable"},
		{"no pointer", 5, "a nil pointer, want the address of a variable"},
		{"slice of strings", &text, "type string holds pointers: string is a string; register what it is made of, or give *[]string the methods MarshalBinary and UnmarshalBinary"},
		{"map", &table, "type map[int]int holds pointers"},
		{"struct", &where, "struct { next *int }.next is a ptr"},
		{"empty", &empty, "type struct {} has no contents"},
		{"pointer", &random, "the address of a pointer of type *rand.PCG: hand over the pointer itself"},
		{"slices", &list, "type []float64 holds pointers"},
		{"big", integer, "type big.Int holds pointers"},
	}
	var s checkpoint.State
	require.NoError(t, s.Add("taken", &taken))
	for _, tt := range tests {
		require.ErrorContains(t, s.Add(tt.name, tt.x), tt.want, tt.name)
	}
	im, err := s.Image()
	require.NoError(t, err)
	require.Equal(t, 8, im.Bytes(), "none of them was registered")

	broken := failing{errors.New("disk on fire")}
	require.NoError(t, s.Add("broken", &broken))
	_, err = s.Image()
	require.ErrorContains(t, err, `save "broken": MarshalBinary of checkpoint_test.failing: disk on fire`)
}

func TestStateThatDoesNotFit(t *testing.T) {
	var s checkpoint.State
	x, i, good := []float64{1}, 5, failing{}
	require.NoError(t, s.Add("x", &x))
	require.NoError(t, s.Add("i", &i))
	require.NoError(t, s.Add("b", &good))
	im, err := s.Image()
	require.NoError(t, err)

	var r checkpoint.State
	r.From(travel(t, im))
	var single []float32
	require.ErrorContains(t, r.Add("x", &single), "slice []float64 with elements of 8 bytes was saved, slice []float32 with 4 bytes is registered")
	require.ErrorIs(t, r.Add("x", &single), checkpoint.ErrMismatch)
	require.ErrorContains(t, r.Add("x", &i), "value int with 8 bytes is registered")
	require.ErrorContains(t, r.Add("y", &x), `it was not saved (what was: "x", "i", "b")`)
	bad := failing{errors.New("no")}
	require.ErrorContains(t, r.Add("b", &bad), "UnmarshalBinary of checkpoint_test.failing: no")
	require.NoError(t, r.Add("i", &i))
	err = r.Settle()
	require.ErrorContains(t, err, `saved but not registered: "x", "b"`)
	require.NoError(t, r.Settle(), "settled only once")
}

func TestOnlyChangedChunksAreSent(t *testing.T) {
	const n = 3 * checkpoint.ChunkBytes / 8
	p := newProgram(1, 1)
	p.x = make([]float64, n)
	var s checkpoint.State
	p.register(t, &s)
	var sent checkpoint.Sent
	a := checkpoint.NewAssembly(nil)
	round := func(most int) (keys int) {
		im, err := s.Image()
		require.NoError(t, err)
		for k, c := range sent.Changed(im) {
			require.NoError(t, a.Put(k, append([]byte(nil), c...)))
			if keys++; keys == most {
				break
			}
		}
		return keys
	}
	require.Equal(t, 2, round(2))
	require.Equal(t, 6, round(math.MaxInt), "the rest: 1 of x, ions, iter, best, random, started")
	require.Zero(t, round(math.MaxInt))
	p.x[n-1], p.iter = 1, 5
	require.Equal(t, 2, round(math.MaxInt))
	p.x = p.x[:n-1]
	require.Equal(t, 1, round(math.MaxInt))

	im, err := s.Image()
	require.NoError(t, err)
	require.Zero(t, round(math.MaxInt))
	require.Equal(t, im.Manifest(), sent.Manifest(im))
	got, err := a.Finish(im.Manifest())
	require.NoError(t, err)
	require.Equal(t, im.Manifest(), got.Manifest())

	// The next state begins with the chunks of this one.
	p.x[0] = 3
	im, err = s.Image()
	require.NoError(t, err)
	next := checkpoint.NewAssembly(got)
	_, err = next.Finish(im.Manifest())
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	require.ErrorContains(t, err, `chunk 0 of "x" is missing or has other contents`)
	for k, c := range sent.Changed(im) {
		require.Equal(t, checkpoint.Key{}, k)
		require.NoError(t, next.Put(k, append([]byte(nil), c...)))
	}
	newer, err := next.Finish(im.Manifest())
	require.NoError(t, err)
	require.Equal(t, im.Manifest().Sum(), newer.Manifest().Sum())
	require.NotEqual(t, newer.Manifest().Sum(), got.Manifest().Sum(), "the older image is unchanged")
	require.ErrorIs(t, next.Put(checkpoint.Key{}, make([]byte, checkpoint.ChunkBytes+1)), checkpoint.ErrCorrupt)
}

// Ahead has sent each chunk once after a bounded number of calls, even if the program changes more
// between two calls than one call sends. A call sends changed chunks only with the bytes that new
// chunks leave of its limit.
func TestCopyAheadEnds(t *testing.T) {
	const chunks = 8
	x := make([]float64, chunks*checkpoint.ChunkBytes/8)
	var s checkpoint.State
	require.NoError(t, s.Add("x", &x))
	var sent checkpoint.Sent
	a := checkpoint.NewAssembly(nil)
	calls, most := 0, 2*checkpoint.ChunkBytes
	for all := false; !all; calls++ {
		require.Less(t, calls, chunks)
		for i := range chunks / 2 {
			x[i*checkpoint.ChunkBytes/8]++
		}
		im, err := s.Image()
		require.NoError(t, err)
		bytes := 0
		all = sent.Ahead(im, most, func(k checkpoint.Key, c []byte) {
			require.NoError(t, a.Put(k, append([]byte(nil), c...)))
			bytes += len(c)
		})
		require.LessOrEqual(t, bytes, most)
	}
	require.Equal(t, chunks/2, calls)
	im, err := s.Image()
	require.NoError(t, err)
	changed := 0
	require.True(t, sent.Ahead(im, most, func(k checkpoint.Key, c []byte) { changed++; require.NoError(t, a.Put(k, append([]byte(nil), c...))) }))
	require.Equal(t, 2, changed)
	for k, c := range sent.Changed(im) {
		changed++
		require.NoError(t, a.Put(k, append([]byte(nil), c...)))
	}
	require.Equal(t, chunks/2, changed)
	got, err := a.Finish(im.Manifest())
	require.NoError(t, err)
	require.Equal(t, im.Manifest(), got.Manifest())
}

func TestCloneIsACopy(t *testing.T) {
	x := make([]float64, checkpoint.ChunkBytes/8+3)
	var s checkpoint.State
	require.NoError(t, s.Add("x", &x))
	im, err := s.Image()
	require.NoError(t, err)
	first := im.Clone(nil)
	was := first.Manifest().Sum()
	x[0], x[len(x)-1] = 1, 1
	require.Equal(t, was, first.Manifest().Sum())
	x = append(x, make([]float64, checkpoint.ChunkBytes/8)...)
	im, err = s.Image()
	require.NoError(t, err)
	second := im.Clone(first) // first is not needed any more
	require.Equal(t, im.Manifest(), second.Manifest())
	x[0] = 2
	require.NotEqual(t, im.Manifest(), second.Manifest())
}

func FuzzManifest(f *testing.F) {
	p := newProgram(1, 3)
	var s checkpoint.State
	p.register(f, &s)
	im, err := s.Image()
	require.NoError(f, err)
	f.Add(im.Manifest().Append(nil))
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := checkpoint.ParseManifest(b)
		if err != nil {
			require.ErrorIs(t, err, checkpoint.ErrCorrupt)
			return
		}
		require.Equal(t, b, m.Append(nil))
		_, err = checkpoint.NewAssembly(nil).Finish(m)
		require.Equal(t, m.Bytes() == 0, err == nil)
	})
}

// Part yields the bytes of a part of a variable, across chunks.
func TestPartOfAnImage(t *testing.T) {
	x := make([]byte, 2*checkpoint.ChunkBytes+5)
	for i := range x {
		x[i] = byte(i * 7 / 5)
	}
	n := 3
	var s checkpoint.State
	require.NoError(t, s.Add("n", &n))
	require.NoError(t, s.Add("x", &x))
	im, err := s.Image()
	require.NoError(t, err)
	im = im.Clone(nil)
	for _, part := range [][2]int{{0, 0}, {0, 1}, {3, 9}, {0, checkpoint.ChunkBytes}, {checkpoint.ChunkBytes - 1, checkpoint.ChunkBytes + 1}, {5, len(x)}, {2 * checkpoint.ChunkBytes, len(x)}, {len(x) - 1, len(x)}} {
		var got []byte
		for piece := range im.Part(1, uint64(part[0]), uint64(part[1])) {
			got = append(got, piece...)
		}
		require.Equal(t, string(x[part[0]:part[1]]), string(got), part)
	}
	sizes := map[int]int{}
	for i, chunks := range im.Variables() {
		for _, c := range chunks {
			sizes[i] += len(c)
		}
	}
	require.Equal(t, map[int]int{0: 8, 1: len(x)}, sizes)
}
