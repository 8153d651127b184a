package comm

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/transport/sdr"
)

// Special values of ranks and tags.
const (
	AnySource = -1 // in a receive or probe: a message from any rank
	AnyTag    = -1 // in a receive or probe: a message with any tag
	Undefined = -2 // no rank or no index; as a color: no communicator
	ProcNull  = -3 // a send to it or a receive from it does nothing

	MaxTag = 1 << 30
)

// Comm is a communicator: a group of ranks, numbered from 0, with messages of its own. Its
// methods may be called by one goroutine at a time.
type Comm struct {
	engine *sdr.Engine
	family *family
	origin
	id     uint64
	domain uint64 // clock domain: communicators with the same one are used by one goroutine
	rank   int
	index  []int // member of each rank of the job, or Undefined
	p2p    *sdr.Context
	coll   *sdr.Context

	sent     []uint64 // number of messages of collectives sent so far to each member
	received []uint64 // number of messages of collectives received so far from each member
	made     map[string]uint64
	recalled map[string]uint64       // by operation: communicators made since the process was restored
	plans    []*schedule             // for reuse
	value    *[valueBytes / 8]uint64 // buffer of AllreduceValue; nil: it is in use, or not made yet
	call     *sdr.Call               // request for the next blocking call; nil: it is in use, or not made yet
	freed    atomic.Bool
	children int // number of communicators in family that were derived from this one
}

func init() {
	bridge.World = func(engine any) (any, error) { return world(engine.(*sdr.Engine)) }
}

// world returns the communicator of all ranks of the engine's job.
func world(e *sdr.Engine) (*Comm, error) {
	f := &family{engine: e}
	e.Attach(f)
	if saved := e.Saved(); saved != nil {
		if err := f.restore(saved); err != nil {
			return nil, err
		}
		return f.list[0], nil
	}
	members := make([]int, e.Size())
	for i := range members {
		members[i] = i
	}
	o := origin{operation: opWorld, members: members}
	return f.make(o, o.id())
}

// Self returns a world of one rank, for a program that was started without a
// launcher.
func Self() *Comm {
	c, err := world(sdr.NewEngine(sdr.Config{Degrees: []int{1}}))
	if err != nil {
		panic(err) // a new engine has no context yet
	}
	return c
}

// contextID returns the id of a new communicator. Every member computes the same id without
// communication, and no two communicators have the same id.
func contextID(parent uint64, operation string, members []int, count uint64) uint64 {
	h := sha256.New()
	b := binary.LittleEndian.AppendUint64(nil, parent)
	b = binary.LittleEndian.AppendUint64(b, count)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(operation)))
	b = append(b, operation...)
	for _, m := range members {
		b = binary.LittleEndian.AppendUint64(b, uint64(m))
	}
	h.Write(b)
	return binary.LittleEndian.Uint64(h.Sum(nil))
}

// make returns a new communicator of which this rank is a member.
func (f *family) make(o origin, domain uint64) (*Comm, error) {
	c := f.newComm(o, domain)
	if err := c.join(); err != nil {
		return nil, fmt.Errorf("new communicator: %w", err)
	}
	f.add(c)
	return c, nil
}

func (f *family) newComm(o origin, domain uint64) *Comm {
	c := &Comm{
		engine: f.engine, family: f, origin: o, id: o.id(), domain: domain, index: make([]int, f.engine.Size()),
		sent: make([]uint64, len(o.members)), received: make([]uint64, len(o.members)),
		made: make(map[string]uint64),
	}
	for i := range c.index {
		c.index[i] = Undefined
	}
	for i, m := range c.members {
		c.index[m] = i
	}
	c.rank = c.index[f.engine.Rank()]
	return c
}

// join enters the contexts of c.
func (c *Comm) join() error {
	var err error
	if c.p2p, err = c.engine.Join(c.id, c.domain, false, c.members); err != nil {
		return err
	}
	c.coll, err = c.engine.Join(contextID(c.id, "collectives", nil, 0), c.domain, true, c.members)
	return err
}

// Rank returns the rank of the caller in c, 0 to Size-1.
func (c *Comm) Rank() int {
	if c == nil {
		return Undefined
	}
	return c.rank
}

// Size returns the number of ranks in c.
func (c *Comm) Size() int {
	if c == nil {
		return 0
	}
	return len(c.members)
}

// borrow returns a request for a blocking call; giveBack returns it.
func (c *Comm) borrow() *sdr.Call {
	r := c.call
	if r == nil {
		return c.engine.NewBlockingCall()
	}
	c.call = nil
	r.Reset()
	return r
}

// giveBack makes r available again if it is complete. Otherwise the job has ended, and the
// engine may still use r.
func (c *Comm) giveBack(r *sdr.Call) {
	if r.Done() {
		c.call = r
	}
}

// Free releases c. All members call it. Operations under way still complete. Further calls
// on c fail with ErrFreed.
func (c *Comm) Free() error {
	if c != nil && c.freed.Load() && c.engine.Restored() {
		return nil // c was already freed before the safe point
	}
	if err := c.usable(); err != nil {
		return fmt.Errorf("free communicator: %w", err)
	}
	c.freed.Store(true)
	c.engine.Free(c.p2p)
	c.engine.Free(c.coll)
	c.family.drop(c)
	return nil
}

// exists returns an error if c cannot be the argument of a call.
func (c *Comm) exists() error {
	if c == nil || c.freed.Load() && !c.engine.Restored() {
		return ErrFreed
	}
	return c.engine.Over()
}

// usable returns an error if c cannot be used for communication.
func (c *Comm) usable() error {
	switch {
	case c == nil || c.freed.Load():
		return ErrFreed
	case c.engine.Restored():
		return ErrRestored
	}
	if err := c.engine.Over(); err != nil {
		return err
	}
	if b := c.engine.Before(); b != nil {
		return b.Refuse()
	}
	return nil
}

// touch makes the memory of an operation current before the operation is posted, see
// sdr.Before. It is called after usable.
func touch[T any](c *Comm, parts ...[]T) error {
	b := c.engine.Before()
	if b == nil || !b.Touches() {
		return nil
	}
	mem := make([][]byte, len(parts))
	for i, p := range parts {
		mem[i] = bytesOf(p)
	}
	return b.Touch(mem...)
}

// ready checks the most common calls with one peer and one tag quickly. true means that the
// call is valid. false means that the call needs the full checks.
func (c *Comm) ready(peer, tag int) bool {
	return c != nil && uint(peer) < uint(len(c.members)) && uint(tag) <= MaxTag && !c.freed.Load() && c.engine.Ready()
}

// checkPeer checks the arguments of a point-to-point call. AnySource and
// AnyTag are for receives.
func (c *Comm) checkPeer(peer, tag int, receive bool) error {
	if err := c.exists(); err != nil {
		return err
	}
	if (peer < 0 || peer >= len(c.members)) && peer != ProcNull && !(receive && peer == AnySource) {
		return fmt.Errorf("%w: %d of %d", ErrRank, peer, len(c.members))
	}
	if peer == AnySource {
		if err := c.checkAny(); err != nil {
			return err
		}
	}
	if (tag < 0 || tag > MaxTag) && !(receive && tag == AnyTag) {
		return fmt.Errorf("%w: %d, want 0 to %d", ErrTag, tag, MaxTag)
	}
	return nil
}

func (c *Comm) checkRoot(root int) error {
	if root < 0 || root >= len(c.members) {
		return fmt.Errorf("%w: root %d of %d", ErrRank, root, len(c.members))
	}
	return nil
}

// job returns the rank in the job of a peer, or AnySource.
func (c *Comm) job(peer int) int {
	if peer == AnySource {
		return sdr.Any
	}
	return c.members[peer]
}
