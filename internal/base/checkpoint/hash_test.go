package checkpoint_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
)

// lap is a time that each replica measures for itself.
type lap float64

func (lap) Measured() {}

// A hash depends on every bit of the contents, and on nothing else.
func TestHash(t *testing.T) {
	p := newProgram(3, 100)
	var s checkpoint.State
	p.register(t, &s)
	hash := func() uint64 {
		h, err := s.Hash(5)
		require.NoError(t, err)
		return h
	}
	was := hash()
	require.Equal(t, was, hash())
	other, err := s.Hash(6)
	require.NoError(t, err)
	require.NotEqual(t, was, other)

	var same checkpoint.State
	newProgram(3, 100).register(t, &same)
	h, err := same.Hash(5)
	require.NoError(t, err)
	require.Equal(t, was, h)

	for name, change := range map[string]func() (undo func()){
		"an element":  func() func() { x := p.x[99]; p.x[99]++; return func() { p.x[99] = x } },
		"a field":     func() func() { p.ions[99].ID++; return func() { p.ions[99].ID-- } },
		"a value":     func() func() { p.iter++; return func() { p.iter-- } },
		"binary":      func() func() { b := p.started; p.started = b.Add(time.Second); return func() { p.started = b } },
		"the length":  func() func() { x := p.x; p.x = append(x, 0); return func() { p.x = x } },
		"its address": func() func() { x := p.x; p.x = x[:99]; p.none = []int{0}; return func() { p.x, p.none = x, nil } },
	} {
		undo := change()
		require.NotEqual(t, was, hash(), name)
		undo()
		require.Equal(t, was, hash(), name)
	}

	// Padding is not part of the contents: four bytes after ID are padding.
	*(*byte)(unsafe.Add(unsafe.Pointer(&p.ions[7].ID), 4)) ^= 1
	*(*byte)(unsafe.Add(unsafe.Pointer(&p.best.ID), 4)) ^= 1
	require.Equal(t, was, hash())
}

// Measured values differ between replicas, so they are not hashed.
func TestHashOfMeasured(t *testing.T) {
	var s checkpoint.State
	x, laps, one := 1.0, []lap{1, 2}, lap(3)
	for name, v := range map[string]any{"laps": &laps, "one": &one} {
		require.NoError(t, s.Add(name, v))
	}
	none, err := s.Hash(1)
	require.NoError(t, err)
	laps, one = []lap{7}, 9
	again, err := s.Hash(1)
	require.NoError(t, err)
	require.Equal(t, none, again)
	require.NoError(t, s.Add("x", &x))
	more, err := s.Hash(1)
	require.NoError(t, err)
	require.NotEqual(t, none, more)
}

// The returned memory is that of the program, not a copy.
func TestMemory(t *testing.T) {
	p := newProgram(3, 10)
	var s checkpoint.State
	p.register(t, &s)
	n := 0
	for _, mem := range s.Memory() {
		if n += len(mem); len(mem) > 0 {
			mem[0] ^= 1
		}
	}
	require.Equal(t, 10*8+10*56+8+56, n)
	require.NotEqual(t, newProgram(3, 10).x[0], p.x[0])
	require.Equal(t, 2, p.iter)
}
