package outfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/internal/testkit/simdisk"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// The simulation runs the replicas of a rank through the calls of a program on one file.
// They agree by the real protocol of Once. Replicas die between any two actions, with or
// without their hosts, and are replaced. A replica runs again from an earlier place, alone,
// with the outcomes that it has had. The rank rolls back to a backup and then makes other calls
// than before. The oracle is the file of a run without failures.

const (
	simLimit = 40 // limit of kept bytes
	simCalls = 14
)

// item is a step of the program.
type item struct {
	cut    bool // a safe point with a backup or a replacement
	call   Call // Write, Read, Sync or Publish
	append bool // write at the end
	undone bool // another rank fails: the record is truncated and written again
}

// simRank is a rank in one generation.
type simRank struct {
	rng     *rand.Rand
	d       *simdisk.Disk
	hosts   []*simdisk.Host
	nodes   []*simNode
	links   [][][]section.OnceAction
	epoch   []int
	script  []item
	keeps   bool
	growing bool // records are appended to the file
	births  uint64
	cuts    uint64

	want   []byte // contents according to the calls that have an outcome
	calls  int    // number of these calls
	late   []simdisk.Page
	backup *simBackup
	err    error
}

type simBackup struct {
	state State
	at    int // position in the script
	cut   uint64
	want  []byte
}

func newSimRank(seed uint64) *simRank {
	r := &simRank{rng: rand.New(rand.NewPCG(seed, 51)), d: simdisk.New()}
	r.keeps, r.growing = seed%2 == 0, seed%3 == 0
	r.script = r.program(simCalls)
	r.begin(1+int(seed%4), func(me uint64) *Machine { return New(me, 0, 0) }, 0)
	return r
}

// program makes random calls. The last one makes everything durable and publishes the
// file.
func (r *simRank) program(n int) (list []item) {
	for range n {
		switch k := r.rng.IntN(10); {
		case k < 2:
			list = append(list, item{cut: true})
		case k < 3:
			list = append(list, item{call: Call{Kind: Sync}})
		case k < 4:
			list = append(list, item{call: Call{Kind: Read}})
		default:
			var pieces []Piece
			for range 1 + r.rng.IntN(2) {
				data := bytes.Repeat([]byte{byte(1 + r.rng.IntN(255))}, 1+r.rng.IntN(12))
				pieces = append(pieces, Piece{int64(r.rng.IntN(40)), data})
			}
			list = append(list, item{append: r.growing, undone: r.growing && r.rng.IntN(4) == 0, call: Call{Kind: Write, Pieces: pieces}})
		}
	}
	return append(list, item{call: Call{Kind: Sync}}, item{call: Call{Kind: Publish}})
}

// begin starts a generation.
func (r *simRank) begin(replicas int, machine func(me uint64) *Machine, at int, then ...Call) {
	r.nodes, r.links, r.epoch, r.calls = nil, nil, nil, 0
	r.hosts = nil
	shared := &simdisk.Host{Disk: r.d}
	for i := range replicas {
		r.births++
		n := &simNode{r: r, id: i, host: shared, o: section.NewOnce(i, replicas), m: machine(r.births), at: at, then: slices.Clone(then)}
		n.m.limit = simLimit
		if r.keeps {
			n.host = &simdisk.Host{Disk: r.d}
		}
		r.nodes = append(r.nodes, n)
		r.links = append(r.links, make([][]section.OnceAction, replicas))
	}
}

func (r *simRank) live() (live []*simNode) {
	for _, n := range r.nodes {
		if !n.dead {
			live = append(live, n)
		}
	}
	return live
}

// cut takes a cut once all live replicas have reached it. It makes a backup and a
// replacement.
func (r *simRank) cut() bool {
	live := r.live()
	for _, n := range live {
		if n.open || len(n.again) > 0 || n.handled < len(r.epoch) || len(n.then) > 0 || n.at != live[0].at || n.at == len(r.script) || !r.script[n.at].cut {
			return false
		}
	}
	r.cuts++
	donor := live[r.rng.IntN(len(live))]
	settle := func() {
		for _, a := range donor.m.Settle() {
			act(donor.host, a, donor.m.Version())
		}
		donor.m.Settled()
	}
	if r.rng.IntN(2) == 0 {
		settle()
		r.backup = &simBackup{donor.m.State(), donor.at + 1, r.cuts, slices.Clone(r.want)}
	}
	if i := slices.IndexFunc(r.nodes, func(n *simNode) bool { return n.dead }); i >= 0 && r.rng.IntN(2) == 0 {
		settle()
		var at section.Position
		donor.o.Position(&at)
		r.births++
		n := &simNode{r: r, id: i, host: &simdisk.Host{Disk: r.d}, handled: len(r.epoch), at: donor.at, calls: donor.calls,
			o: section.NewOnceAt(i, len(r.nodes), at), m: NewAt(r.births, donor.m.State(), r.cuts)}
		if !r.keeps {
			n.host = donor.host
		}
		n.m.limit = simLimit
		for _, other := range live {
			other.o.Alive(i)
			n.o.Alive(other.id)
		}
		for _, to := range r.links {
			to[i] = nil
		}
		r.nodes[i] = n
	}
	for _, n := range r.live() {
		n.m.Passed(r.cuts)
		n.at++
		n.image = nil // from before the cut
	}
	return true
}

// lose ends a host. Only a part of its pages reaches the server.
func (r *simRank) lose(h *simdisk.Host) {
	h.Flush(r.rng.IntN(len(h.Dirty) + 1))
	h.Dirty = nil
}

// kill ends a replica, possibly with its host. A write of a host that was disconnected may
// arrive later.
func (r *simRank) kill(n *simNode) {
	n.dead = true
	r.epoch = append(r.epoch, n.id)
	for to := range r.links[n.id] {
		q := &r.links[n.id][to]
		*q = (*q)[:r.rng.IntN(len(*q)+1)]
	}
	if r.keeps && r.rng.IntN(2) == 0 {
		r.late = append(r.late, n.host.Dirty[:r.rng.IntN(len(n.host.Dirty)+1)]...)
		r.lose(n.host)
	} else {
		n.host.Fsync() // closing the file of a dead process flushes its pages before the death is known
	}
}

// rollback begins another generation at the last backup. After that the program makes other calls
// than before.
func (r *simRank) rollback(hosts bool) {
	for _, n := range r.nodes {
		if hosts {
			r.lose(n.host)
		}
		n.host.Fsync()
	}
	b := r.backup
	r.want = slices.Clone(b.want)
	for _, p := range r.late { // the lease has ended, so late writes arrive now
		if known := int64(len(r.want)); p.Version == b.state.Version && p.Offset < known && !bytes.Equal(r.want[p.Offset:min(p.End(), known)], p.Data[:min(p.End(), known)-p.Offset]) {
			continue // these are older bytes, see run
		}
		r.d.Files[p.Version] = simdisk.Put(r.d.Files[p.Version], p.Offset, p.Data)
	}
	r.late = nil
	r.script = append(r.script[:b.at:b.at], r.program(max(0, simCalls-b.at))...)
	r.begin(len(r.nodes), func(me uint64) *Machine { return NewAt(me, b.state, b.cut) }, b.at, Call{Kind: Back, Size: b.state.End})
}

// run runs a job to its end.
func (r *simRank) run() error {
	crashes, rollbacks := r.rng.IntN(2*len(r.nodes)+1), 3
	for step := 0; r.err == nil; step++ {
		if step > 100_000 {
			return fmt.Errorf("no end")
		}
		if r.cut() {
			continue
		}
		var moves []func()
		for _, n := range r.live() {
			moves = append(moves, n.moves()...)
		}
		if len(moves) == 0 {
			break
		}
		moves[r.rng.IntN(len(moves))]()
		if len(r.late) > 0 && r.rng.IntN(8) == 0 {
			p := r.late[0]
			r.late = r.late[1:]
			if p.Version == r.live()[0].m.Version() && !r.overwritten(p) { // docs/files.md documents this limit
				r.d.Files[p.Version] = simdisk.Put(r.d.Files[p.Version], p.Offset, p.Data)
			}
		}
		live := r.live()
		switch {
		case r.rng.IntN(25) > 0:
		case crashes > 0 && len(live) > 1:
			crashes--
			r.kill(live[r.rng.IntN(len(live))])
		case r.backup != nil && rollbacks > 0 && !r.over():
			rollbacks--
			r.rollback(r.rng.IntN(2) == 0)
		}
	}
	if r.err != nil {
		return r.err
	}
	for _, n := range r.live() {
		if n.at < len(r.script) {
			return fmt.Errorf("replica %d hangs at call %d", n.id, n.at)
		}
	}
	for _, n := range r.nodes {
		n.host.Dirty = nil
	}
	if !bytes.Equal(r.d.Published, r.want) {
		return fmt.Errorf("the file has %v, want %v", r.d.Published, r.want)
	}
	if last := r.d.Files[r.live()[0].m.Version()]; !bytes.Equal(last, r.want) {
		return fmt.Errorf("durable is %v, want %v", last, r.want)
	}
	return nil
}

// overwritten reports whether several writes of the program concern the offset of a late
// one. Then the bytes of an older write may be the last to arrive.
func (r *simRank) overwritten(p simdisk.Page) bool {
	n := 0
	for _, it := range r.script {
		if slices.ContainsFunc(it.call.Pieces, func(q Piece) bool { return q.Offset < p.End() && p.Offset < q.end() }) {
			n++
		}
	}
	return n > 1 && !r.growing || !bytes.Equal(r.slice(p), p.Data)
}

// slice returns the bytes that the file should have at a piece.
func (r *simRank) slice(p simdisk.Page) []byte {
	if p.End() > int64(len(r.want)) {
		return nil
	}
	return r.want[p.Offset:p.End()]
}

// over reports whether some replica has published the file.
func (r *simRank) over() bool {
	return slices.ContainsFunc(r.nodes, func(n *simNode) bool { return n.at >= len(r.script)-1 })
}

// TestFileSchedules kills processes and hosts at random. The file is that of a run without
// failures, and every call finds the bytes that earlier calls have written.
func TestFileSchedules(t *testing.T) {
	n := simseed.Search(t, 10_000, func(seed uint64) error {
		if err := newSimRank(seed).run(); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		return nil
	})
	require.Positive(t, n)
}
