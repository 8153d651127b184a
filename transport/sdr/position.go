package sdr

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ErrPosition marks bytes that are not a Position.
var ErrPosition = errors.New("malformed messaging position")

// Position is the state of a rank's messages at a cut: the numbers of its streams and the
// messages that no receive has matched. It is the same for every replica, whatever the
// degrees.
type Position struct {
	rank, size int
	cut        uint64 // number of the cut
	contexts   []contextPosition
	program    []byte // data of the Attachment
}

type contextPosition struct {
	id       uint64
	exact    bool
	sent     []uint64 // per rank: the next number
	received []uint64 // per rank: the first number after the cut
	messages []messagePosition
}

// messagePosition is an unmatched message.
type messagePosition struct {
	source int
	number uint64
	tag    int
	data   []byte
}

// Rank returns the rank whose position p is.
func (p *Position) Rank() int { return p.rank }

// Size returns the number of ranks of the job.
func (p *Position) Size() int { return p.size }

// Position returns the position of this rank at the cut that is being passed. It excludes
// messages from after the cut, even those that have arrived.
func (k *cuts) Position() (*Position, error) {
	if k.now == nil || !k.now.done {
		return nil, fmt.Errorf("position in the messages: %w", errNoCut)
	}
	pos := &Position{rank: k.job.rank, size: len(k.job.ranks), cut: k.now.number}
	for _, ctx := range k.contexts.order {
		if ctx == k.contexts.bookmarks || !ctx.joined || ctx.freed {
			continue
		}
		at := contextPosition{id: ctx.id, exact: ctx.exact, sent: make([]uint64, len(k.job.ranks)), received: make([]uint64, len(k.job.ranks))}
		for rank := range k.job.ranks {
			if s := ctx.out[rank]; s != nil {
				at.sent[rank] = s.next
			}
			if s := ctx.in[rank]; s != nil && rank != k.job.rank {
				at.received[rank] = s.before
			}
		}
		at.received[k.job.rank] = at.sent[k.job.rank]
		at.messages = ctx.unmatched(at.received)
		pos.contexts = append(pos.contexts, at)
	}
	slices.SortFunc(pos.contexts, func(a, b contextPosition) int { return cmp.Compare(a.id, b.id) })
	return pos, nil
}

// unmatched copies the messages from before the cut that no receive has matched.
func (ctx *Context) unmatched(before []uint64) []messagePosition {
	var list []messagePosition
	for rank, s := range ctx.in {
		if s == nil {
			continue
		}
		for m := range s.unexpected.messages() {
			if m.number >= before[rank] {
				continue
			}
			data := m.data
			if m.local != nil {
				data = m.local.data
			}
			list = append(list, messagePosition{source: rank, number: m.number, tag: m.tag, data: slices.Clone(data)})
		}
	}
	return list
}

// Restore sets a new core to a position, inside the cut.
func (k *cuts) Restore(pos *Position) error {
	if pos.rank != k.job.rank || pos.size != len(k.job.ranks) {
		return fmt.Errorf("position of rank %d of %d, for rank %d of %d", pos.rank, pos.size, k.job.rank, len(k.job.ranks))
	}
	for _, at := range pos.contexts {
		ctx := k.contexts.get(at.id, at.exact)
		for rank := range k.job.ranks {
			if at.sent[rank] > 0 {
				k.contexts.outStream(ctx, rank).next = at.sent[rank]
			}
			if n := at.received[rank]; n > 0 {
				s := ctx.inStream(rank)
				s.due, s.before, s.received = n, n, numbers{low: n}
			}
		}
		for _, mp := range at.messages {
			m := k.matching.newArrival(ctx.inStream(mp.source), mp.number, mp.tag, len(mp.data))
			m.whole = true
			k.matching.keepCopy(m, mp.data)
			k.matching.enqueue(m)
		}
	}
	k.now = &cut{number: pos.cut, marked: make([]bool, len(k.job.ranks)), done: true}
	k.newest = pos.cut
	return nil
}

const (
	positionMagic   = "SDRP"
	positionVersion = 2
)

// MarshalBinary implements encoding.BinaryMarshaler. All numbers are little-endian. Counts and
// lengths take 8 bytes.
func (p *Position) MarshalBinary() ([]byte, error) {
	le := binary.LittleEndian
	b := append([]byte(nil), positionMagic...)
	for _, v := range []uint64{positionVersion, uint64(p.rank), uint64(p.size), p.cut, uint64(len(p.contexts))} {
		b = le.AppendUint64(b, v)
	}
	for _, ctx := range p.contexts {
		exact := uint64(0)
		if ctx.exact {
			exact = 1
		}
		b = le.AppendUint64(le.AppendUint64(b, ctx.id), exact)
		for _, list := range [][]uint64{ctx.sent, ctx.received} {
			for _, n := range list {
				b = le.AppendUint64(b, n)
			}
		}
		b = le.AppendUint64(b, uint64(len(ctx.messages)))
		for _, m := range ctx.messages {
			for _, v := range []uint64{uint64(m.source), m.number, uint64(m.tag), uint64(len(m.data))} {
				b = le.AppendUint64(b, v)
			}
			b = append(b, m.data...)
		}
	}
	b = le.AppendUint64(b, uint64(len(p.program)))
	return append(b, p.program...), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. It rejects everything that
// MarshalBinary of this version does not write.
func (p *Position) UnmarshalBinary(b []byte) error {
	r := positionReader{b: b}
	if string(r.bytes(uint64(len(positionMagic)))) != positionMagic {
		return fmt.Errorf("%w: it does not begin as one", ErrPosition)
	}
	if v := r.uint(); v != positionVersion && r.err == nil {
		return fmt.Errorf("%w: version %d, this program reads version %d", ErrPosition, v, positionVersion)
	}
	rank, size := r.uint(), r.uint()
	if size > uint64(len(b)) || rank >= size {
		r.fail("rank %d of %d", rank, size)
	}
	q := Position{rank: int(rank), size: int(size), cut: r.uint()}
	if q.cut > 1<<62 {
		r.fail("cut %d", q.cut)
	}
	seen := make(map[uint64]bool)
	for range r.count(24 + 16*size) {
		ctx := contextPosition{id: r.uint()}
		exact := r.uint()
		ctx.exact = exact == 1
		if exact > 1 || seen[ctx.id] || ctx.id == cutContext {
			r.fail("context %x twice, or with flag %d", ctx.id, exact)
		}
		seen[ctx.id] = true
		ctx.sent, ctx.received = r.uints(size), r.uints(size)
		r.messages(&q, &ctx)
		if r.err != nil {
			break
		}
		q.contexts = append(q.contexts, ctx)
	}
	if n := r.uint(); n > 0 {
		q.program = slices.Clone(r.bytes(n))
	}
	if len(r.b) > 0 {
		r.fail("%d bytes too many", len(r.b))
	}
	if r.err != nil {
		return r.err
	}
	*p = q
	return nil
}

// positionReader reads untrusted bytes. After an error it returns zeros.
type positionReader struct {
	b   []byte
	err error
}

func (r *positionReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrPosition, fmt.Sprintf(format, args...))
	}
	r.b = nil
}

func (r *positionReader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail("it ends too early")
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *positionReader) uint() uint64 {
	b := r.bytes(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// uints reads n numbers. It rejects those above 1<<62, so that later additions cannot
// overflow.
func (r *positionReader) uints(n uint64) []uint64 {
	b := r.bytes(8 * n)
	if b == nil {
		return nil
	}
	list := make([]uint64, n)
	for i := range list {
		if list[i] = binary.LittleEndian.Uint64(b[8*i:]); list[i] > 1<<62 {
			r.fail("message number %d", list[i])
		}
	}
	return list
}

// count reads the number of items that follow, each of at least size bytes.
func (r *positionReader) count(size uint64) int {
	n := r.uint()
	if n > uint64(len(r.b))/size {
		r.fail("%d items in %d bytes", n, len(r.b))
		return 0
	}
	return int(n)
}

// messages reads the unmatched messages of a context. Those of one source are in the order
// of their numbers.
func (r *positionReader) messages(p *Position, ctx *contextPosition) {
	next := make(map[int]uint64)
	for range r.count(32) {
		source, number, tag, n := r.uint(), r.uint(), r.uint(), r.uint()
		data := r.bytes(n)
		if r.err != nil {
			return
		}
		if source >= uint64(p.size) || tag > tagLimit(ctx.exact) || number >= ctx.received[source] || number < next[int(source)] {
			r.fail("message %d from rank %d with tag %d", number, source, tag)
			return
		}
		next[int(source)] = number + 1
		ctx.messages = append(ctx.messages, messagePosition{int(source), number, int(tag), slices.Clone(data)})
	}
}
