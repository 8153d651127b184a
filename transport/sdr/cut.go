package sdr

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A cut in this package is a consistent cut: a place in the program of every rank that no
// message crosses. At a cut each process sends every other rank a bookmark: the number of
// messages that it has sent to that rank in each context. Then it receives the messages
// that are on their way to it, until it has all messages that the bookmarks count. When
// every live process has done so, the position of a rank consists of the numbers of its
// streams and its unmatched messages. From then on no message from before the cut needs to
// be kept.
//
// Bookmarks travel in batches, in about log2(ranks) rounds. In round r a rank sends to the
// rank 2^r further on, modulo the number of ranks. It sends bookmarks for the ranks at a
// distance that has bit r: its own ones, and those that it received in earlier rounds. This
// needs few messages and few links. All replicas of a rank receive the same in a round. So
// bookmarks are ordinary messages: if a process died, its substitute sends its bookmarks.

// cutContext is the context of the bookmarks. A message in it has the number of its cut.
const cutContext = 0

// Errors of a cut.
var (
	// ErrPending reports that a request is under way that must not be pending at a safe
	// point.
	ErrPending = errors.New("pending across a safe point")
	// ErrCancelled reports that the cut was cancelled.
	ErrCancelled = errors.New("cut cancelled")
)

var errNoCut = errors.New("not in a cut")

// cuts handles the cuts of a process, one after another.
type cuts struct {
	job      *job
	out      *outbox
	contexts *contexts
	acks     *acks
	requests *requests
	outgoing *outgoing
	matching *matching
	now      *cut   // the cut that is being passed, or nil
	newest   uint64 // number of the last cut that was begun
}

// cut is the state of the cut that is being passed.
type cut struct {
	number  uint64
	marked  []bool     // per rank: its bookmark has arrived
	round   int        // round whose bookmarks are awaited
	carried []bookmark // bookmarks for other ranks that are not sent on yet
	fresh   bool       // a frame has arrived since the last call of Arrived
	done    bool       // all messages from before the cut have arrived
}

// bookmark is the report of one rank to another at a cut.
type bookmark struct {
	from, to int
	said     []byte
}

// Pending returns an error if a request is under way that must not be pending across a safe
// point: a receive, or a synchronous send. The error names the request. Other sends to
// other ranks complete at the cut.
func (k *cuts) Pending() error {
	if k.matching.agreed != nil {
		for _, d := range k.matching.agreed.open {
			if d.req != nil {
				return k.pendingRecv(d.req, d.req.source)
			}
		}
	}
	for _, ctx := range k.contexts.order {
		for r := range ctx.any.receives() {
			return fmt.Errorf("a receive from any rank%s is %w", tagged(r.tag), ErrPending)
		}
		for rank, s := range ctx.in {
			if s == nil {
				continue
			}
			for r := range s.posted.receives() {
				return k.pendingRecv(r, rank)
			}
			for _, m := range s.live {
				if m.req != nil {
					return k.pendingRecv(m.req, rank)
				}
			}
			for m := range s.unexpected.messages() {
				if m.local != nil && m.local.sync {
					return fmt.Errorf("a synchronous send to rank %d%s is %w", rank, tagged(m.tag), ErrPending)
				}
			}
		}
		for rank, s := range ctx.out {
			if s == nil {
				continue
			}
			for _, m := range s.kept {
				if m != nil && m.sync && m.req != nil && m.lacking != 0 {
					return fmt.Errorf("a synchronous send to rank %d%s is %w", rank, tagged(m.tag), ErrPending)
				}
			}
		}
	}
	return nil
}

func (k *cuts) pendingRecv(r *Request, rank int) error {
	if r.ctx.exact {
		return fmt.Errorf("a collective operation with rank %d is %w", rank, ErrPending)
	}
	return fmt.Errorf("a receive from rank %d%s is %w", rank, tagged(r.tag), ErrPending)
}

func tagged(tag int) string {
	if tag == Any {
		return ""
	}
	return fmt.Sprintf(" with tag %d", tag)
}

// BeginCut begins the cut with this number. The number must be higher than those of earlier cuts,
// and the same at all processes.
func (k *cuts) BeginCut(number uint64) error {
	if k.now != nil || number <= k.newest {
		return fmt.Errorf("cut %d is begun after cut %d", number, k.newest)
	}
	if err := k.Pending(); err != nil {
		return err
	}
	k.newest = number
	k.acks.sendAllSums()
	k.now = &cut{number: number, marked: make([]bool, len(k.job.ranks)), fresh: true}
	k.requests.pulling = true
	for _, ctx := range k.contexts.order {
		for _, s := range ctx.in {
			if s != nil {
				s.before = 0
			}
		}
	}
	k.forgetBookmarks(number)
	for rank := range k.job.ranks {
		if rank == k.job.rank {
			continue
		}
		if said := k.bookmark(rank); len(said) > 0 {
			k.now.carried = append(k.now.carried, bookmark{k.job.rank, rank, said})
		}
	}
	k.sendBookmarks()
	for _, ctx := range k.contexts.order {
		for _, s := range ctx.in {
			if s == nil {
				continue
			}
			for _, n := range slices.Sorted(maps.Keys(s.live)) {
				if m := s.live[n]; !m.whole && m.offers != 0 && k.requests.wants(m) {
					k.requests.ask(m)
				}
			}
		}
	}
	return nil
}

// sendBookmarks sends the bookmarks of the round that begins, if there is one.
func (k *cuts) sendBookmarks() {
	n, step := len(k.job.ranks), 1<<k.now.round
	if step >= n {
		return
	}
	var data []byte
	k.now.carried = slices.DeleteFunc(k.now.carried, func(b bookmark) bool {
		if (b.to-k.job.rank+n)%n&step == 0 {
			return false
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(b.from))
		data = binary.LittleEndian.AppendUint32(data, uint32(b.to))
		data = binary.LittleEndian.AppendUint64(data, uint64(len(b.said)))
		data = append(data, b.said...)
		return true
	})
	rank := (k.job.rank + step) % n
	s := k.contexts.outStream(k.contexts.bookmarks, rank)
	m := k.outgoing.newMessage()
	m.stream, m.number, m.data, m.bookmark = s, k.now.number, data, true
	if m.lacking = s.lacking(k.job.ranks[rank].live, k.now.number); m.lacking == 0 {
		k.outgoing.reuseMessage(m)
		return
	}
	k.outgoing.dispatch(m)
}

// takeBookmarks handles the bookmarks that a rank has sent in the current round.
func (k *cuts) takeBookmarks(rank int, data []byte) error {
	const head = 16
	for len(data) > 0 {
		if len(data) < head {
			return fmt.Errorf("%w: %d bytes behind the bookmarks from rank %d", ErrProtocol, len(data), rank)
		}
		b := bookmark{from: int(binary.LittleEndian.Uint32(data)), to: int(binary.LittleEndian.Uint32(data[4:]))}
		size := binary.LittleEndian.Uint64(data[8:])
		data = data[head:]
		if b.from >= len(k.job.ranks) || b.to >= len(k.job.ranks) || b.from == b.to || b.from == k.job.rank || size > uint64(len(data)) {
			return fmt.Errorf("%w: bookmark of rank %d for rank %d with %d bytes from rank %d", ErrProtocol, b.from, b.to, size, rank)
		}
		b.said, data = data[:size], data[size:]
		if b.to != k.job.rank {
			b.said = slices.Clone(b.said) // the memory of the message is reused
			k.now.carried = append(k.now.carried, b)
			continue
		}
		if k.now.marked[b.from] {
			return fmt.Errorf("%w: two bookmarks of rank %d", ErrProtocol, b.from)
		}
		if err := k.mark(b.from, b.said); err != nil {
			return err
		}
		k.now.marked[b.from] = true
	}
	return nil
}

// forgetBookmarks discards the bookmarks of cuts before number. The process no longer keeps
// its own bookmarks, and ignores late bookmarks of other ranks.
func (k *cuts) forgetBookmarks(number uint64) {
	for rank := range k.job.ranks {
		if rank == k.job.rank {
			continue
		}
		if s := k.contexts.bookmarks.out[rank]; s != nil {
			k.outgoing.abandon(s, number)
		}
		s := k.contexts.bookmarks.inStream(rank)
		for m := range s.unexpected.messages() {
			if m.number < number {
				m.place.leave()
				delete(s.live, m.number)
				k.matching.release(m)
			}
		}
		s.received.merge(number, 0, nil)
	}
}

// A bookmark lists the contexts that both ranks have, ordered by id. Each entry has the id,
// flags, and the number of messages sent before the cut.
const bookmarkEntry = 24

func (k *cuts) bookmark(rank int) []byte {
	var open []*Context
	for _, ctx := range k.contexts.order {
		if ctx != k.contexts.bookmarks && ctx.common(rank) {
			open = append(open, ctx)
		}
	}
	slices.SortFunc(open, func(a, b *Context) int { return cmp.Compare(a.id, b.id) })
	b := make([]byte, 0, len(open)*bookmarkEntry)
	for _, ctx := range open {
		next, flags := uint64(0), uint16(0)
		if s := ctx.out[rank]; s != nil {
			next = s.next
		}
		if ctx.exact {
			flags = flagExact
		}
		b = binary.LittleEndian.AppendUint64(b, ctx.id)
		b = binary.LittleEndian.AppendUint64(b, uint64(flags))
		b = binary.LittleEndian.AppendUint64(b, next)
	}
	return b
}

// common reports whether the program has joined the context and rank is a member.
func (ctx *Context) common(rank int) bool {
	return ctx.joined && !ctx.left && (ctx.member == nil || ctx.member[rank])
}

// Arrived reports whether every message that was sent to this process before the cut has
// arrived. It also forwards the bookmarks that other ranks need for that. An error means
// that the program or a peer is wrong.
func (k *cuts) Arrived() (bool, error) {
	switch {
	case k.now == nil:
		return false, errNoCut
	case k.now.done || !k.now.fresh:
		return k.now.done, nil
	}
	k.now.fresh = false
	for n := len(k.job.ranks); 1<<k.now.round < n; {
		rank := (k.job.rank - 1<<k.now.round + n) % n
		s := k.contexts.bookmarks.in[rank]
		at := s.unexpected.find(k.now.number)
		if at == nil || !at.message.whole {
			return false, nil
		}
		at.leave()
		m := at.message
		err := k.takeBookmarks(rank, m.data)
		k.matching.release(m)
		if err != nil {
			return false, err
		}
		k.now.round++
		k.sendBookmarks()
		if 1<<k.now.round < n {
			continue
		}
		for rank, marked := range k.now.marked {
			if rank == k.job.rank || marked {
				continue
			}
			if err := k.mark(rank, nil); err != nil { // rank has no communicator with this rank
				return false, err
			}
			k.now.marked[rank] = true
		}
	}
	for _, ctx := range k.contexts.order {
		for rank, s := range ctx.in {
			if s != nil && rank != k.job.rank && !ctx.freed && s.received.low < s.before {
				return false, nil
			}
		}
	}
	k.now.done, k.requests.pulling = true, false
	return true, nil
}

// mark applies the bookmark of a rank.
func (k *cuts) mark(rank int, b []byte) error {
	if len(b)%bookmarkEntry != 0 {
		return fmt.Errorf("%w: bookmark of %d bytes from rank %d", ErrProtocol, len(b), rank)
	}
	listed := make(map[*Context]bool)
	for ; len(b) > 0; b = b[bookmarkEntry:] {
		id, flags := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		exact := flags == uint64(flagExact)
		ctx := k.contexts.get(id, exact)
		if ctx == nil {
			continue // the context was freed here: the other rank reports the error
		}
		if ctx.exact != exact || !exact && flags != 0 || ctx == k.contexts.bookmarks {
			return fmt.Errorf("%w: bookmark from rank %d with flags %x in context %x", ErrProtocol, rank, flags, id)
		}
		listed[ctx] = true
		ctx.inStream(rank).before = binary.LittleEndian.Uint64(b[16:])
	}
	for _, ctx := range k.contexts.order {
		if ctx != k.contexts.bookmarks && ctx.common(rank) && !listed[ctx] {
			return fmt.Errorf("rank %d has freed a communicator that rank %d still has, or has not made it yet: all members make and free one on the same side of a safe point", rank, k.job.rank)
		}
	}
	return nil
}

// CancelCut cancels the cut. The program continues as if there had been none.
func (k *cuts) CancelCut() {
	if k.now == nil {
		return
	}
	k.forgetBookmarks(k.now.number + 1)
	k.now, k.requests.pulling = nil, false
}
