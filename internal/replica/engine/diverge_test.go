package engine

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/verify"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// warned has the replicas of a group look for divergence, and go on.
func warned(s *job.Setup, _ *Config) { s.Diverge = job.DivergeWarn }

// One bit of the state of a replica is found by its peers, whichever dies meanwhile, and one replica
// tells what differs.
func TestFlippedStateIsFound(t *testing.T) {
	for _, kill := range []string{"", "0.0@task:60", "0.2@task:50"} {
		with := []setup{warned, flipped(t, "0.1@state:2:9000")}
		if kill != "" {
			with = append(with, killed(t, kill))
		}
		g := newGroup(t, 3, with...)
		safeRounds(g, 12, sched.Replicate)
		told := 0
		for _, r := range g.replicas {
			require.True(t, r.err == nil || r.killed, r.err)
			if text := r.engine.Snapshot().Watched.Differed; text != "" {
				told++
				require.Regexp(t, `^rank 0: the registered state differed on replicas \d and \d at safe point \d+, first in [wx]; .*: a wrong clause, or time, random numbers, map order: run with -check$`, text)
			}
		}
		require.GreaterOrEqual(t, told, 1, kill)
	}
}

// What is alike is not reported.
func TestAlikeStatesAreNotReported(t *testing.T) {
	g := newGroup(t, 3, warned, killed(t, "0.1@task:40"))
	all := safeRounds(g, 8, sched.Adaptive)
	for _, r := range g.survivors() {
		require.NoError(t, r.err)
		require.Equal(t, serial(8), all[r])
		w := r.engine.Snapshot().Watched
		require.Empty(t, w.Differed)
		require.Positive(t, w.Hashes)
	}
}

type padded struct {
	value float64
	kind  int8
}

func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// Hashes are those of the values: any changes them, padding does not, and of much memory each place
// hashes a part so that some place shows any change.
func TestHashesOfContents(t *testing.T) {
	p := make([]padded, 100)
	c := contents{{namedContent{name: "p"}, reflect.TypeFor[padded](), bytesOf(p)}}
	at := verify.Place{Kind: verify.AtSafePoint, Number: 8}
	was, table := c.hashes(at), c.table()
	*(*byte)(unsafe.Add(unsafe.Pointer(&p[7].kind), 3)) = 1
	require.Equal(t, was, c.hashes(at))
	require.Equal(t, table, c.table())
	p[99].value, p[99].kind = 0, 1
	require.NotEqual(t, was, c.hashes(at))
	require.NotEqual(t, table, c.table())

	x := make([]float64, 5*mostHashed/8)
	c = contents{{namedContent{name: "x"}, reflect.TypeFor[float64](), bytesOf(x)}}
	found := 0
	for n := range uint64(100) {
		at.Number = n
		x[12345] = 0
		was := c.hashes(at)
		x[12345] = 1
		if c.hashes(at)[0] != was[0] {
			found++
		}
	}
	require.Greater(t, found, 2)
	require.Less(t, found, 40)
}

// A message names the first element that differs, with both values.
func TestValuesThatDiffer(t *testing.T) {
	x := make([]float64, 20_000)
	c := content{namedContent{name: "x"}, reflect.TypeFor[float64](), bytesOf(x)}
	block := 17_000 / c.elements()
	other := append([]byte(nil), c.block(block)...)
	binary.LittleEndian.PutUint64(other[8*(17_000-block*c.elements()):], math.Float64bits(2.5))
	require.Equal(t, "x[17000] is 0 on replica 1 and 2.5 on replica 2", c.differs(block, 1, 2, other))
	one := content{namedContent{name: "n"}, reflect.TypeFor[int32](), bytesOf([]int32{7})}
	require.Equal(t, "n is 7 on replica 0 and 9 on replica 1", one.differs(0, 0, 1, []byte{9, 0, 0, 0}))
	nan := content{namedContent{name: "y"}, reflect.TypeFor[float32](), bytesOf([]float32{float32(math.NaN()), 0})}
	require.Regexp(t, `^y\[0\] is NaN \(.*\) on replica 0 and NaN \(.*\) on replica 1$`, nan.differs(0, 0, 1, []byte{1, 0, 0xc0, 0x7f, 0, 0, 0, 0}))
	text := content{namedContent{name: "b", bytes: true}, nil, []byte("abc")}
	require.Equal(t, "byte 1 of what MarshalBinary of b returns is 98 on replica 0 and 120 on replica 1", text.differs(0, 0, 1, []byte("axc")))
}

// A word comes out of its frame as it went in, and what no replica sends is refused.
func TestWatchWords(t *testing.T) {
	at := verify.Place{Kind: verify.AtSafePoint, Number: 7}
	for _, w := range []*verify.WatchWord{
		{Kind: verify.WatchHashes, Place: at, Hashes: []uint64{1, 1 << 63}},
		{Kind: verify.WatchStop, Place: at, Found: &verify.Difference{Place: verify.Place{Kind: verify.AtSection, Number: 3}, A: 1, B: 2, Index: 5, Lengths: true}},
		{Kind: verify.WatchTable, Place: at, Table: verify.Table{{8, 1}, {0}}},
		{Kind: verify.WatchTable, Place: at, Table: verify.Table{}},
		{Kind: verify.WatchWant, Place: at, Item: 4, Block: 9},
		{Kind: verify.WatchBlock, Place: at, Item: 4, Block: 9, Bytes: []byte("block")},
		{Kind: verify.WatchOver},
	} {
		m, payload := watchMessage(w)
		h := m.Header(1)
		got, err := update.ParseMessage(&h)
		require.NoError(t, err)
		back, err := parseWatch(got, payload)
		require.NoError(t, err)
		if w.Hashes == nil {
			back.Hashes = nil
		}
		require.Equal(t, w, back)
	}
	for _, c := range []struct {
		task    int
		payload []byte
	}{{0, []byte{1}}, {99, nil}, {2 * int(verify.WatchStop), make([]byte, 8)}, {2 * int(verify.WatchTable), []byte{9, 0, 0, 0, 0, 0, 0, 0}}, {2 * int(verify.WatchOver), make([]byte, 8)}} {
		_, err := parseWatch(update.Message{Section: 1, Task: c.task}, c.payload)
		require.ErrorIs(t, err, errWatch)
	}
}
