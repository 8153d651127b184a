package engine

import (
	"encoding/binary"
	"math"
	"reflect"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/verify"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// warned makes the replicas of a group check for divergence, and continue.
func warned(s *job.Setup, _ *Config) { s.Diverge = job.DivergeWarn }

// The peers of a replica find one flipped bit of its state, even if replicas die
// meanwhile. One replica reports the values that differ.
func TestFlippedStateIsFound(t *testing.T) {
	for _, kill := range []string{"", "0.0@task:60", "0.2@task:50"} {
		with := []setup{warned, flipped(t, "0.1@state:2:9000")}
		if kill != "" {
			with = append(with, killed(t, kill))
		}
		g := newGroup(t, 3, with...)
		safeRounds(g, 12, sched.Replicate)
		reports := 0
		for _, r := range g.replicas {
			require.True(t, r.err == nil || r.killed, r.err)
			if text := r.engine.Snapshot().Watched.Differed; text != "" {
				reports++
				require.Regexp(t, `^rank 0: the registered state differed on replicas \d and \d at safe point \d+, first in [wx]; .*: a wrong clause, or time, random numbers, map order: run with -check$`, text)
			}
		}
		require.GreaterOrEqual(t, reports, 1, kill)
	}
}

// strict makes the replicas of a group check for divergence, and fail.
func strict(s *job.Setup, _ *Config) { s.Diverge = job.DivergeStrict }

// A replica that finds a difference of hashes reports it to the head at once, with both
// hashes, because it may die before values are compared.
func TestKnownDifferenceIsReportedAtOnce(t *testing.T) {
	for _, kill := range []string{"", "0.0@task:60", "0.1@task:130", "0.2@task:50", "0.1@section:7"} {
		with := []setup{strict, flipped(t, "0.1@state:2:9000")}
		if kill != "" {
			with = append(with, killed(t, kill))
		}
		g := newGroup(t, 3, with...)
		var mu sync.Mutex
		reports := make(map[*replica]string)
		g.onReport = func(r *replica, s job.Stats) {
			mu.Lock()
			defer mu.Unlock()
			reports[r] = s.Watched.Known
		}
		safeRounds(g, 12, sched.Replicate)
		knows := 0
		for _, r := range g.replicas {
			known := r.engine.Snapshot().Watched.Known
			if known == "" {
				continue
			}
			knows++
			require.Regexp(t, `^rank 0: the registered state differed on replicas \d and \d at safe point \d+(?:, first in [wx])?; only the hash is known \([\da-f]+ on replica \d, [\da-f]+ on replica \d\)$`, known)
			require.Eventually(t, func() bool {
				mu.Lock()
				defer mu.Unlock()
				return reports[r] == known
			}, time.Minute, time.Millisecond)
		}
		require.Positive(t, knows, kill)
	}
}

// After a rollback a replica no longer knows the place at which all were to stop. So it
// reports the difference when the rollback begins.
func TestKnownDifferenceOutlivesARollback(t *testing.T) {
	w := knowing(t)
	w.resume()
	require.Equal(t, "rank 0: the registered state differed on replicas 0 and 1 at safe point 8; only the hash is known "+
		"(2a on replica 0, 2b on replica 1), since the job rolled back before values were compared: "+job.DivergeAdvice(false), w.snapshot().Differed)
	require.Nil(t, w.machine.Found())
}

// One replica ends all comparisons because its own difference proves nothing. That does
// not end a job in which another replica has proof of a difference.
func TestEndOfComparisonsKeepsAKnownDifference(t *testing.T) {
	w := knowing(t)
	require.NoError(t, w.handleMessage(1, update.Message{Task: int(verify.WatchOver) * watchKinds}, nil))
	require.ErrorIs(t, w.err, ErrDiverged)
	require.Contains(t, w.snapshot().Differed, "(2a on replica 0, 2b on replica 1), since another replica has ended the comparisons")
	require.True(t, w.over.Load())
}

// A variable that MarshalBinary encodes differently each time does not hide another,
// proven difference.
func TestUnstableBytesKeepAKnownDifference(t *testing.T) {
	w := knowing(t)
	at := verify.Place{Kind: verify.AtSafePoint, Number: 9}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.perform(w.machine.Propose(at))
	w.machine.Dead(1)
	err := w.stop(at, func() contents {
		w.skip["m"] = true
		return contents{{namedContent{name: "m", bytes: true}, nil, []byte("m")}}
	})
	require.ErrorIs(t, err, ErrDiverged)
	require.ErrorContains(t, err, "(2a on replica 0, 2b on replica 1), since MarshalBinary of m returns other bytes each time: ")
}

// The head receives no report of a difference in the bytes of MarshalBinary alone.
func TestUnprovenDifferenceIsNotReported(t *testing.T) {
	at := verify.Place{Kind: verify.AtSafePoint, Number: 8}
	for _, c := range []struct {
		hashes []uint64
		known  bool
	}{{[]uint64{43, 8}, false}, {[]uint64{42, 8}, true}} {
		w := newWatch(t)
		w.names[at] = []namedContent{{name: "m", bytes: true}, {name: "x"}}
		w.perform(w.machine.Pass(at, []uint64{42, 7}))
		m, payload := watchMessage(&verify.WatchWord{Kind: verify.WatchHashes, Place: at, Hashes: c.hashes})
		require.NoError(t, w.handleMessage(1, m, payload))
		require.NotNil(t, w.machine.Found())
		require.Equal(t, c.known, w.counts.Known != "")
	}
	// If one content in a group with a common hash is encoded by MarshalBinary, the hash
	// proves nothing.
	many := make(contents, 2*mostHashes)
	many[1].bytes = true
	require.True(t, many.names()[0].bytes)
	require.False(t, many.names()[1].bytes)
}

// newWatch returns the watcher of replica 0 of 2. The other replica does not exist.
func newWatch(t *testing.T) *watcher {
	g := newGroup(t, 2, strict)
	return g.replicas[0].engine.watch
}

// knowing returns a watcher that has found a difference of hashes.
func knowing(t *testing.T) *watcher {
	w := newWatch(t)
	at := verify.Place{Kind: verify.AtSafePoint, Number: 8}
	w.counts.Hashes++
	w.perform(w.machine.Pass(at, []uint64{42}))
	m, payload := watchMessage(&verify.WatchWord{Kind: verify.WatchHashes, Place: at, Hashes: []uint64{43}})
	w.mu.Lock()
	defer w.mu.Unlock()
	require.NoError(t, w.handleMessage(1, m, payload))
	require.NotEmpty(t, w.counts.Known)
	return w
}

// Equal states are not reported.
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

// Hashes cover the values: any change of a value changes a hash, and a change of padding
// does not. Each place hashes only a part of a large memory, so a change shows at some place.
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

// A message is the same after encoding and decoding. A malformed frame is refused.
func TestWatchWords(t *testing.T) {
	at := verify.Place{Kind: verify.AtSafePoint, Number: 7}
	for _, w := range []*verify.WatchWord{
		{Kind: verify.WatchHashes, Place: at, Hashes: []uint64{1, 1 << 63}},
		{Kind: verify.WatchStop, Place: at, Found: &verify.Difference{Place: verify.Place{Kind: verify.AtSection, Number: 3}, A: 1, B: 2, Index: 5, Lengths: true, Hashes: [2]uint64{6, 1 << 63}}},
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
