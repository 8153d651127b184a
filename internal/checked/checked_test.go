package checked

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/update"
)

// TestShadow compares the shadow with a plain array that copies each byte when it is first
// named.
func TestShadow(t *testing.T) {
	for seed := range uint64(300) {
		g := rand.New(rand.NewPCG(seed, 3))
		live := make([]byte, 60)
		held, entry := make([]bool, len(live)), make([]byte, len(live))
		var s shadow
		part := func() (lo, hi int) {
			lo = g.IntN(len(live) + 1)
			return lo, lo + g.IntN(len(live)-lo+1)
		}
		for k := range 8 {
			for i := range live {
				live[i] = byte(g.IntN(3))
			}
			lo, hi := part()
			s.add(owner{task: k}, live[lo:hi])
			for i := lo; i < hi; i++ {
				if !held[i] {
					held[i], entry[i] = true, live[i]
				}
			}
		}
		for range 20 {
			lo, hi := part()
			at := -1
			for i := hi - 1; i >= lo; i-- {
				if held[i] && live[i] != entry[i] {
					at = i
				}
			}
			first, _ := bounds(live)
			d, changed := s.change(live[lo:hi])
			require.Equal(t, at >= 0, changed)
			if changed {
				require.Equal(t, first+uintptr(at), d.addr)
			}
			s.restore(live[lo:hi])
			for i := lo; i < hi; i++ {
				require.True(t, !held[i] || live[i] == entry[i])
			}
			if i := g.IntN(len(live)); held[i] {
				live[i]++
			}
		}
		s.restoreAll()
		for range s.changes() {
			require.Fail(t, "all is restored")
		}
	}
}

func TestLayout(t *testing.T) {
	type inner struct {
		A int8
		_ [3]byte
		B float32
	}
	tests := []struct {
		of     any
		solid  bool
		leaves []leaf
	}{
		{3.0, true, []leaf{{0, 8, 1, leafFloat, ""}}},
		{[3][2]int16{}, true, []leaf{{0, 2, 6, leafSigned, ""}}},
		{complex64(0), true, []leaf{{0, 4, 2, leafFloat, ""}}},
		{true, true, []leaf{{0, 1, 1, leafBool, ""}}},
		{uintptr(0), true, []leaf{{0, 8, 1, leafUnsigned, ""}}},
		{struct{}{}, true, nil},
		{inner{}, false, []leaf{{0, 1, 1, leafSigned, ".A"}, {4, 4, 1, leafFloat, ".B"}}},
		{[2]inner{}, false, []leaf{{0, 1, 1, leafSigned, "[0].A"}, {4, 4, 1, leafFloat, "[0].B"},
			{8, 1, 1, leafSigned, "[1].A"}, {12, 4, 1, leafFloat, "[1].B"}}},
	}
	for _, tt := range tests {
		l := make(layouts).of(reflect.TypeOf(tt.of))
		require.Equal(t, tt.solid, l.solid, "%T", tt.of)
		require.Equal(t, tt.leaves, l.leaves, "%T", tt.of)
	}
}

// Poison differs between kinds, between neighbouring elements and between regions. It does
// not change padding.
func TestPoison(t *testing.T) {
	for _, v := range []any{1.0, float32(1), 1, int32(1), int16(1), uint64(1), uint32(1), complex(1, 2), struct {
		A int8
		B float64
	}{}} {
		t.Run(fmt.Sprintf("%T", v), func(t *testing.T) {
			l := make(layouts).of(reflect.TypeOf(v))
			const n = 16
			mem := func(p poison, k int) []byte {
				b := bytes.Repeat([]byte{0xee}, n*l.size)
				l.fill(b, p, k, n)
				return b
			}
			a, other, b, mark := mem(poisonA, 0), mem(poisonA, 1), mem(poisonB, 0), mem(poisonMark, 0)
			for e := range n {
				at := func(m []byte, e int) string { return string(m[e*l.size : (e+1)*l.size]) }
				require.NotEqual(t, at(a, e), at(b, e))
				require.NotEqual(t, at(mark, e), at(b, e))
				require.NotEqual(t, at(mark, e), at(mark, (e+1)%n))
				require.NotEqual(t, at(a, e), at(other, e))
				require.NotEqual(t, at(a, e), at(a, (e+1)%n))
			}
			if !l.solid {
				require.Equal(t, bytes.Repeat([]byte{0xee}, 7), a[1:8])
			}
		})
	}
}

// TestMarks requires that a mark is finite and too unlikely to occur by chance. It is
// never a positive integer, which a program could use as the length of a loop.
func TestMarks(t *testing.T) {
	for v, telling := range map[any]bool{1.0: true, float32(1): true, 1: true, int32(1): true, int16(1): false, int8(1): false,
		uint64(1): false, true: false, [2]int16{}: true, complex64(1): true, [3]bool{}: false} {
		l := make(layouts).of(reflect.TypeOf(v))
		require.Equal(t, telling, l.telling(poisonMark), "%T", v)
		require.Equal(t, v == any(1.0), l.telling(poisonA), "%T", v)
	}
	marks := func(v any) reflect.Value {
		of := reflect.TypeOf(v)
		all := reflect.MakeSlice(reflect.SliceOf(of), period, period)
		make(layouts).of(of).soak(unsafe.Slice((*byte)(all.UnsafePointer()), period*int(of.Size())), poisonMark, 0)
		return all
	}
	for _, v := range []any{1, int32(1), int16(1), int8(1)} {
		for i, all := 0, marks(v); i < all.Len(); i++ {
			require.Negative(t, all.Index(i).Int())
		}
	}
	for _, v := range []any{1.0, float32(1)} {
		for i, all := 0, marks(v); i < all.Len(); i++ {
			x := all.Index(i).Float()
			require.True(t, x > 1 && x < 1e30, x)
		}
	}
	for i, all := 0, marks(uint64(1)); i < all.Len(); i++ {
		require.Less(t, all.Index(i).Uint(), uint64(1<<17))
	}
}

// Any frame of a peer results in a description of a difference.
func FuzzDigest(f *testing.F) {
	x := make([]float64, 40)
	s := &engine.Section{}
	t := &Trial{layouts: make(layouts), leftovers: new(leftovers)}
	c := t.Section(s, new(callsite.Site), nil)
	s.Tasks = []engine.Task{{Kernel: &engine.Kernel{Name: "k"},
		Regions: []update.Region{update.Slice(update.In, "x", x), update.Slice(update.Out, "w", x[:3])}}}
	mine := newDigest(c)
	own, err := mine.encode(c)
	require.NoError(f, err)
	f.Add(own)
	f.Add([]byte(`{"section":0,"tasks":[{"name":"k","regions":[{"elements":40,"entry":[1]},{"elements":3,"exit":[1,2,3,4,5]}]}]}`))
	f.Add([]byte(`{"tasks":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var other digest
		if json.Unmarshal(b, &other) != nil {
			return
		}
		v := &section.Divergence{Task: -1}
		mine.compare(c, &other, v)
		require.NotEmpty(t, v.Mine)
		require.NotEmpty(t, v.Theirs)
	})
}
