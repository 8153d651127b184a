package update_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/update"
)

func TestValues(t *testing.T) {
	type inner struct {
		b float64
		c int32
	}
	type padded struct {
		a uint8
		x [2]inner
		_ uint16
		d uint8
	}
	solid := update.Slice(update.Out, "x", []float64{1, 2})
	require.False(t, update.Padded(solid.Type()))
	require.Same(t, &solid.Mem[0], &update.Values(solid.Type(), solid.Mem, nil)[0])

	require.False(t, update.Padded(reflect.TypeFor[struct{ a, b float32 }]()))

	r := update.Slice(update.Out, "x", []padded{{a: 1, x: [2]inner{{2, 3}, {4, 5}}, d: 6}, {a: 7}})
	require.True(t, update.Padded(r.Type()))
	before := update.Values(r.Type(), r.Mem, nil)
	require.Len(t, before, 2*(1+8+4+8+4+1))
	changed := 0
	for i := range r.Mem {
		r.Mem[i] ^= 0xff
		if string(update.Values(r.Type(), r.Mem, make([]byte, 9))) != string(before) {
			changed++
		}
		r.Mem[i] ^= 0xff
	}
	require.Equal(t, len(before), changed)
}
