package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
)

func TestWriterDoesOneAtATime(t *testing.T) {
	w := NewWriter(t.Context(), t.TempDir(), "", nil, nil)
	w.busy = true
	require.ErrorIs(t, w.Start(Header{}, nil, &Image{}), ErrBusy)
}

func FuzzFile(f *testing.F) {
	x, n := make([]float64, 3), 5
	var s State
	require.NoError(f, s.Add("x", &x))
	require.NoError(f, s.Add("n", &n))
	im, err := s.Image()
	require.NoError(f, err)
	h := Header{Job: Job{Build: "b", Arch: "a", Ranks: 2, Tasks: 16}, Set: 3, Cut: 4, Rank: 1}
	var file bytes.Buffer
	_, _, err = encode(f.Context(), &file, h, []byte("here"), im)
	require.NoError(f, err)
	f.Add(file.Bytes())
	f.Add(file.Bytes()[:40])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		a := NewAssembly(nil)
		d := decoder{keep: func(k Key, b []byte) error { return a.Put(k, bytes.Clone(b)) }}
		sum, err := d.decode(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrVersion) {
				t.Fatalf("%v says neither what is wrong nor with what", err)
			}
			return
		}
		im, err := a.Finish(d.manifest)
		require.NoError(t, err)
		var again bytes.Buffer
		size, sum2, err := encode(t.Context(), &again, d.header, d.position, im)
		require.NoError(t, err)
		require.Equal(t, sum, sum2)
		require.Equal(t, int64(len(b)), size)
		require.Equal(t, b, again.Bytes())
	})
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("{}"))
	f.Add([]byte(`{"format":1,"job":{"ranks":1},"set":1,"cut":2,"files":[{"rank":0,"bytes":3,"sum":"4"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseSet(fmt.Appendf(nil, "%s\n%016x\n", text, xxh3.Hash(text)))
		if err == nil && (s.Job.Ranks < 1 || len(s.Files) != s.Job.Ranks) {
			t.Fatalf("%d files for %d ranks", len(s.Files), s.Job.Ranks)
		}
		_, err = parseSet(text)
		require.Error(t, err, "without its hash")
	})
}
