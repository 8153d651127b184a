package comm

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/intrahpc/intra/transport/sdr"
)

// Special values of ranks and tags.
const (
	AnySource = -1 // in a receive or probe: a message from any rank
	AnyTag    = -1 // in a receive or probe: a message with any tag
	Undefined = -2 // no rank, no index; as a color: no communicator
	ProcNull  = -3 // a send to it or a receive from it does nothing

	MaxTag = 1 << 30
)

// Comm is a communicator: a group of ranks, numbered from 0, and a space of
// messages of its own. Its methods may be called by one goroutine at a time.
type Comm struct {
	engine  *sdr.Engine
	id      uint64
	line    uint64 // communicators with the same line are used by one goroutine
	rank    int
	members []int // rank in the job of each member
	index   []int // member of each rank of the job, or Undefined
	p2p     *sdr.Context
	coll    *sdr.Context

	sent     []uint64 // messages of collectives so far, to each member
	received []uint64 // and from each
	made     map[string]uint64
	plans    []*schedule // for reuse
	freed    atomic.Bool
}

// World returns the communicator of all ranks of the engine's job. It is
// called once for an engine.
func World(e *sdr.Engine) (*Comm, error) {
	members := make([]int, e.Size())
	for i := range members {
		members[i] = i
	}
	id := contextID(0, "world", members, 0)
	return newComm(e, id, id, members)
}

// Alone returns a world of one rank, for a program that was started without a
// launcher.
func Alone() *Comm {
	c, err := World(sdr.NewEngine(sdr.Config{Degrees: []int{1}}))
	if err != nil {
		panic(err) // a new engine has no context yet
	}
	return c
}

// contextID names a new communicator without a leader: every member makes the
// same one, and none is made twice.
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

// newComm joins the contexts of a communicator of which this rank is a member.
func newComm(e *sdr.Engine, id, line uint64, members []int) (*Comm, error) {
	c := &Comm{
		engine: e, id: id, line: line, members: members, index: make([]int, e.Size()),
		sent: make([]uint64, len(members)), received: make([]uint64, len(members)),
		made: make(map[string]uint64),
	}
	for i := range c.index {
		c.index[i] = Undefined
	}
	for i, m := range members {
		c.index[m] = i
	}
	c.rank = c.index[e.Rank()]
	var err error
	if c.p2p, err = e.Join(id, line, false, members); err != nil {
		return nil, fmt.Errorf("new communicator: %w", err)
	}
	if c.coll, err = e.Join(contextID(id, "collectives", nil, 0), line, true, members); err != nil {
		return nil, fmt.Errorf("new communicator: %w", err)
	}
	return c, nil
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

// Free says that the caller is done with c. All members call it; what is under
// way is completed. Further calls on c fail with ErrFreed.
func (c *Comm) Free() error {
	if err := c.usable(); err != nil {
		return fmt.Errorf("free communicator: %w", err)
	}
	c.freed.Store(true)
	c.engine.Free(c.p2p)
	c.engine.Free(c.coll)
	return nil
}

func (c *Comm) usable() error {
	if c == nil || c.freed.Load() {
		return ErrFreed
	}
	return nil
}

// checkPeer checks the arguments of a point-to-point call. AnySource and
// AnyTag are for receives.
func (c *Comm) checkPeer(peer, tag int, receive bool) error {
	if err := c.usable(); err != nil {
		return err
	}
	if (peer < 0 || peer >= len(c.members)) && peer != ProcNull && !(receive && peer == AnySource) {
		return fmt.Errorf("%w: %d of %d", ErrRank, peer, len(c.members))
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
