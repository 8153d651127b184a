package timeline

import (
	"encoding/binary"
	"errors"
)

// block is a group of events that a process sends together. Each block can be decoded on
// its own.
type block struct {
	clock  string // name of the clock of its times; all processes of a host share one
	host   string
	stamp  int64  // time by that clock when the block was sent
	lost   uint64 // number of events before it that the ring had no room for
	events []Event
}

const blockVersion = 1

// These bits, in front of an event, mark its optional fields.
const (
	hasLasted = 1 << iota
	hasName
	hasPlace
	hasWorker
	hasRank
	hasReplica
	hasTag
	hasNumber
	hasContext
	hasBytes
)

// encoder holds the list of texts of the block that it encodes. Its memory is reused.
type encoder struct {
	names map[string]uint64
	order []string
	body  []byte
}

// encode appends b to out. Times are encoded as differences, and texts as indexes into a
// list at the beginning.
func (e *encoder) encode(out []byte, b *block) []byte {
	if e.names == nil {
		e.names = make(map[string]uint64)
	}
	clear(e.names)
	e.order, e.body = e.order[:0], e.body[:0]
	last := b.stamp
	for i := range b.events {
		last = e.event(&b.events[i], last)
	}
	out = append(out, blockVersion)
	out = appendText(out, b.clock)
	out = appendText(out, b.host)
	out = binary.AppendVarint(out, b.stamp)
	out = binary.AppendUvarint(out, b.lost)
	out = binary.AppendUvarint(out, uint64(len(e.order)))
	for _, s := range e.order {
		out = appendText(out, s)
	}
	out = binary.AppendUvarint(out, uint64(len(b.events)))
	return append(out, e.body...)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (e *encoder) text(s string) {
	n, ok := e.names[s]
	if !ok {
		n = uint64(len(e.order))
		e.names[s], e.order = n, append(e.order, s)
	}
	e.body = binary.AppendUvarint(e.body, n)
}

func (e *encoder) event(v *Event, last int64) int64 {
	var has uint64
	set := func(bit uint64, there bool) {
		if there {
			has |= bit
		}
	}
	set(hasLasted, v.Lasted != 0)
	set(hasName, v.Name != "")
	set(hasPlace, v.Place != "")
	set(hasWorker, v.Worker != 0)
	set(hasRank, v.Rank != 0)
	set(hasReplica, v.Replica != 0)
	set(hasTag, v.Tag != 0)
	set(hasNumber, v.Number != 0)
	set(hasContext, v.Context != 0)
	set(hasBytes, v.Bytes != 0)
	b := binary.AppendUvarint(append(e.body, byte(v.Kind)), has)
	e.body = binary.AppendVarint(b, v.At-last)
	if has&hasLasted != 0 {
		e.body = binary.AppendVarint(e.body, v.Lasted)
	}
	if has&hasName != 0 {
		e.text(v.Name)
	}
	if has&hasPlace != 0 {
		e.text(v.Place)
	}
	b = e.body
	for _, f := range [...]struct {
		bit   uint64
		value int64
	}{{hasWorker, int64(v.Worker)}, {hasRank, int64(v.Rank)}, {hasReplica, int64(v.Replica)}, {hasTag, v.Tag},
		{hasNumber, int64(v.Number)}, {hasContext, int64(v.Context)}, {hasBytes, v.Bytes}} {
		if has&f.bit != 0 {
			b = binary.AppendVarint(b, f.value)
		}
	}
	e.body = b
	return v.At
}

var errBlock = errors.New("malformed block of a timeline")

// decoder decodes a block. It keeps the first error until the end.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) {
	if n <= 0 {
		d.bad, d.b = true, nil
		return
	}
	d.b = d.b[n:]
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.take(n)
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	d.take(n)
	return v
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) text() string {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.bad = true
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// count reads the number of items that follow, each of which takes at least least
// bytes.
func (d *decoder) count(least int) int {
	n := d.uint()
	if n > uint64(len(d.b)/least) {
		d.bad = true
		return 0
	}
	return int(n)
}

// decode decodes a block. It skips events of unknown kinds: a process of another
// version may have made them.
func decode(in []byte) (*block, error) {
	d := &decoder{b: in}
	if d.byte() != blockVersion {
		return nil, errBlock
	}
	b := &block{clock: d.text(), host: d.text(), stamp: d.int(), lost: d.uint()}
	names := make([]string, d.count(1))
	for i := range names {
		names[i] = d.text()
	}
	n := d.count(3)
	b.events = make([]Event, 0, n)
	name := func() string {
		i := d.uint()
		if i >= uint64(len(names)) {
			d.bad = true
			return ""
		}
		return names[i]
	}
	last := b.stamp
	for range n {
		v := Event{Kind: Kind(d.byte())}
		has := d.uint()
		v.At = last + d.int()
		last = v.At
		if has&hasLasted != 0 {
			v.Lasted = d.int()
		}
		if has&hasName != 0 {
			v.Name = name()
		}
		if has&hasPlace != 0 {
			v.Place = name()
		}
		field := func(bit uint64) int64 {
			if has&bit == 0 {
				return 0
			}
			return d.int()
		}
		v.Worker, v.Rank, v.Replica = int32(field(hasWorker)), int32(field(hasRank)), int32(field(hasReplica))
		v.Tag, v.Number, v.Context, v.Bytes = field(hasTag), uint64(field(hasNumber)), uint64(field(hasContext)), field(hasBytes)
		if d.bad {
			return nil, errBlock
		}
		if v.Kind > noKind && v.Kind < kinds && v.Lasted >= 0 {
			b.events = append(b.events, v)
		}
	}
	if d.bad || len(d.b) > 0 {
		return nil, errBlock
	}
	return b, nil
}

// stamped decodes the beginning of a block: the clock, and the time by that clock when the
// block was sent.
func stamped(b []byte) (clock string, stamp int64, ok bool) {
	d := &decoder{b: b}
	if d.byte() != blockVersion {
		return "", 0, false
	}
	clock, _, stamp = d.text(), d.text(), d.int()
	return clock, stamp, !d.bad
}

// Events returns the events of a block.
func Events(in []byte) ([]Event, error) {
	b, err := decode(in)
	if err != nil {
		return nil, err
	}
	return b.events, nil
}
