package comm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/intrahpc/intra/transport/sdr"
)

// family is the set of all communicators of one process. An sdr.Position contains it. In a
// restored process, the constructors that the program calls before its first safe point
// return the communicators in the position with which the process began.
type family struct {
	engine *sdr.Engine
	// asserted is the place where the program called AssertNoAnySource; nil: it has not.
	asserted atomic.Pointer[string]
	// deterministic is the place where the program called AssertSendDeterministic; nil: it
	// has not.
	deterministic atomic.Pointer[string]
	// Number of receives, synchronous sends and collectives under way whose completion was
	// not reported.
	open atomic.Int64

	mu   sync.Mutex
	list []*Comm // in order of creation; a freed communicator stays until all communicators derived from it are freed
}

// origin describes how a communicator was made.
type origin struct {
	parent    *Comm // nil for the world
	operation string
	count     uint64
	members   []int // ranks in the job
}

func (o *origin) id() uint64 {
	parent := uint64(0)
	if o.parent != nil {
		parent = o.parent.id
	}
	return contextID(parent, o.operation, o.members, o.count)
}

// counter returns the key under which the number of operations like o is counted.
func (o *origin) counter() string {
	switch o.operation {
	case opWorld, opDup, opSplit, opCreate:
		return o.operation
	}
	return fmt.Sprint(o.operation, o.members)
}

// The operations that make communicators. CreateGroup counts each tag as an operation of
// its own.
const (
	opWorld  = "world"
	opDup    = "dup"
	opSplit  = "split"
	opCreate = "create"
)

func (f *family) add(c *Comm) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, c)
	if c.parent != nil {
		c.parent.children++
	}
}

// drop removes a freed communicator from the list. Then it removes freed communicators from
// which no other one is derived any more.
func (f *family) drop(c *Comm) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ; c != nil && c.freed.Load() && c.children == 0; c = c.parent {
		f.list = slices.DeleteFunc(f.list, func(o *Comm) bool { return o == c })
		if c.parent != nil {
			c.parent.children--
		}
	}
}

// recall returns the next communicator, in the order of creation, that operation o derived
// from c and that was in use at the safe point. If o.members is nil, recall does not
// compare members, because a split knows its members only after communication.
func (c *Comm) recall(o origin) (*Comm, error) {
	f := c.family
	f.mu.Lock()
	defer f.mu.Unlock()
	counter := o.counter()
	n := c.recalled[counter]
	for _, m := range f.list {
		if m.parent != c || m.operation != o.operation || o.members != nil && !slices.Equal(m.members, o.members) {
			continue
		}
		if n == 0 {
			c.recalled[counter]++
			return m, nil
		}
		n--
	}
	return nil, fmt.Errorf("%w: %d communicators that were made in this way were in use at the safe point", ErrRestored, c.recalled[counter])
}

// Pending implements sdr.Attachment.
func (f *family) Pending() error {
	if n := f.open.Load(); n > 0 {
		return fmt.Errorf("a request is %w: %d receives, synchronous sends or collective operations have not been waited for", ErrPending, n)
	}
	return nil
}

// Recall implements sdr.Attachment.
func (f *family) Recall() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.list {
		c.recalled = make(map[string]uint64)
	}
}

// AppendPosition implements sdr.Attachment.
func (f *family) AppendPosition(b []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(len(f.list)))
	text := func(s string) { b = append(le.AppendUint64(b, uint64(len(s))), s...) }
	for _, c := range f.list {
		parent, freed := uint64(0), uint64(0)
		if c.parent != nil {
			parent = c.parent.id
		}
		if c.freed.Load() {
			freed = 1
		}
		for _, v := range []uint64{c.id, c.domain, parent, freed, c.count, uint64(len(c.members))} {
			b = le.AppendUint64(b, v)
		}
		for i, m := range c.members {
			b = le.AppendUint64(b, uint64(m))
			b = le.AppendUint64(b, c.sent[i])
			b = le.AppendUint64(b, c.received[i])
		}
		text(c.operation)
		b = le.AppendUint64(b, uint64(len(c.made)))
		for _, counter := range slices.Sorted(maps.Keys(c.made)) {
			text(counter)
			b = le.AppendUint64(b, c.made[counter])
		}
	}
	for _, made := range f.assertions() {
		if at := made.at.Load(); at != nil {
			b = append(b, made.what)
			text(*at)
		}
	}
	return b
}

var errRecord = errors.New("malformed record of the communicators")

// restore makes the communicators of a position. The first one is the world.
func (f *family) restore(b []byte) error {
	r := recordReader{b: b}
	known := make(map[uint64]*Comm)
	for i := range r.count(7 * 8) {
		id, domain, parent, freed, count := r.uint(), r.uint(), r.uint(), r.uint(), r.uint()
		n := r.count(3 * 8)
		o := origin{parent: known[parent], count: count}
		var sent, received []uint64
		member := make([]bool, f.engine.Size())
		for range n {
			m := r.uint()
			if m >= uint64(len(member)) || member[m] {
				return fmt.Errorf("%w: member %d", errRecord, m)
			}
			member[m] = true
			o.members = append(o.members, int(m))
			sent, received = append(sent, r.uint()), append(received, r.uint())
		}
		o.operation = r.text()
		made := make(map[string]uint64)
		for range r.count(2 * 8) {
			made[r.text()] = r.uint()
		}
		switch {
		case r.short:
			return fmt.Errorf("%w: it ends too early", errRecord)
		case (i == 0) != (o.operation == opWorld) || (i == 0) != (o.parent == nil) || i == 0 && n != f.engine.Size():
			return fmt.Errorf("%w: %q at place %d", errRecord, o.operation, i)
		case o.id() != id || known[id] != nil || freed > 1 || !member[f.engine.Rank()]:
			return fmt.Errorf("%w: communicator %x", errRecord, id)
		}
		c := f.newComm(o, domain)
		c.made, c.recalled = made, make(map[string]uint64)
		c.sent, c.received = sent, received
		if freed == 1 {
			c.freed.Store(true)
		} else if err := c.join(); err != nil {
			return fmt.Errorf("%w: %w", errRecord, err)
		}
		f.add(c)
		known[id] = c
	}
	for len(r.b) > 0 && !r.short && len(f.list) > 0 {
		what := r.bytes(1)[0]
		at := r.text()
		i := slices.IndexFunc(f.assertions(), func(s assertion) bool { return s.what == what && s.at.Load() == nil })
		if at == "" || i < 0 {
			return fmt.Errorf("%w: assertion %q at %q", errRecord, what, at)
		}
		made := f.assertions()[i]
		if err := made.say(f.engine, at); err != nil {
			return fmt.Errorf("%w: %w", errRecord, err)
		}
		made.at.Store(&at)
	}
	if len(f.list) == 0 || len(r.b) > 0 || r.short {
		return fmt.Errorf("%w: %d communicators, then %d bytes", errRecord, len(f.list), len(r.b))
	}
	return nil
}

// assertion is an assertion that a program may make about itself.
type assertion struct {
	what byte                    // identifies the assertion in a position
	at   *atomic.Pointer[string] // where the program made it; nil: it has not
	say  func(e *sdr.Engine, at string) error
}

// assertions returns all possible assertions.
func (f *family) assertions() []assertion {
	noAny := func(e *sdr.Engine, _ string) error { return e.NoAnySource() }
	return []assertion{{'a', &f.asserted, noAny}, {'d', &f.deterministic, (*sdr.Engine).SendDeterministic}}
}

// recordReader reads untrusted bytes. After the first short read it sets short and returns
// zeros.
type recordReader struct {
	b     []byte
	short bool
}

func (r *recordReader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.b, r.short = nil, true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *recordReader) uint() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *recordReader) text() string { return string(r.bytes(r.uint())) }

// count reads the number of items that follow, each of at least size bytes.
func (r *recordReader) count(size int) int {
	n := r.uint()
	if n > uint64(len(r.b)/size) {
		r.b, r.short = nil, true
		return 0
	}
	return int(n)
}
