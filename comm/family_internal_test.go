package comm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport/sdr"
)

// sampleRecord returns the record of rank 0 of 2 with several communicators.
func sampleRecord(t testing.TB) []byte {
	e := sdr.NewEngine(sdr.Config{Degrees: []int{1, 1}})
	w, err := World(e)
	require.NoError(t, err)
	d, err := w.Dup()
	require.NoError(t, err)
	g, err := d.Group().Include(0)
	require.NoError(t, err)
	_, err = d.CreateGroup(g, 3)
	require.NoError(t, err)
	require.NoError(t, d.Free())
	w.sent[1], w.received[1] = 5, 6
	return w.family.AppendPosition(nil)
}

func newFamily() *family {
	return &family{engine: sdr.NewEngine(sdr.Config{Degrees: []int{1, 1}})}
}

func TestRecord(t *testing.T) {
	b := sampleRecord(t)
	f := newFamily()
	require.NoError(t, f.restore(b))
	require.Len(t, f.list, 3)
	require.Equal(t, b, f.AppendPosition(nil))
	for end := range b {
		require.ErrorIs(t, newFamily().restore(b[:end]), errRecord)
	}
	require.ErrorIs(t, newFamily().restore(append(b, 0)), errRecord)
	other := &family{engine: sdr.NewEngine(sdr.Config{Rank: 1, Degrees: []int{1, 1}})}
	require.ErrorIs(t, other.restore(b), errRecord, "rank 1 is not in the group")
}

// FuzzRecord: restore refuses its input, or accepts it as a record that has the same encoding.
func FuzzRecord(f *testing.F) {
	f.Add(sampleRecord(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		fam := newFamily()
		if err := fam.restore(b); err != nil {
			require.ErrorIs(t, err, errRecord)
			return
		}
		again := newFamily()
		out := fam.AppendPosition(nil)
		require.NoError(t, again.restore(out))
		require.Equal(t, out, again.AppendPosition(nil))
	})
}
