package engine

import (
	"github.com/intrahpc/intra/internal/base/arena"
	"github.com/intrahpc/intra/internal/replica/direct"
	"github.com/intrahpc/intra/internal/replica/ntcopy"
)

// areaWords are the words of the areas as the protocol uses them. Nobody has
// claimed anything from a replica whose area is not known.
type areaWords struct{ *stores }

func (w areaWords) Load(r, k int) uint64 {
	if w.areas[r] == nil {
		return 0
	}
	return w.areas[r].Word(k).Load()
}

func (w areaWords) Store(r, k int, v uint64) { w.areas[r].Word(k).Store(v) }

func (w areaWords) CompareAndSwap(r, k int, old, new uint64) bool {
	return w.areas[r] != nil && w.areas[r].Word(k).CompareAndSwap(old, new)
}

func (w areaWords) Mark(k int, v uint64) { w.areas[w.setup.Self.Replica].Mark(k, v) }

// agreedWords are those that all replicas have in common.
type agreedWords struct{ *arena.Arena }

func (w agreedWords) Load(k int) uint64 { return w.Agreed(k).Load() }

func (w agreedWords) CompareAndSwap(k int, old, new uint64) bool {
	return w.Agreed(k).CompareAndSwap(old, new)
}

var ( // there are enough
	_ [arena.Words - direct.NumWords]struct{}
	_ [arena.Agreements - direct.NumAgreements]struct{}
)

// Life is this replica in the incarnation in which the program begins.
func (h *sharing) Life() arena.Life {
	h.mu.Lock()
	defer h.mu.Unlock()
	return arena.Life{Replica: h.setup.Self.Replica, Incarnation: h.setup.Incarnation}
}

// StoreInto lets the replicas of this rank store into what each of them
// allocates in a.
func (h *sharing) StoreInto(a *arena.Arena) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stores = &stores{sharing: h, arena: a, large: ntcopy.From, part: alongBytes}
	h.stores.begin()
}

// CannotStore says why the replicas do not share memory, to a user who has asked
// for that.
func (h *sharing) CannotStore(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes.add("results are sent, not stored: %v", err)
}

// Stores reports whether there is such memory.
func (h *sharing) Stores() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stores != nil
}

// alloc returns memory that the replicas share, nil if there is none.
func (h *sharing) alloc(size int) []byte {
	h.mu.Lock()
	d := h.stores
	h.mu.Unlock()
	if d == nil {
		return nil
	}
	return d.arena.Alloc(size)
}

// begin begins a life of this replica: the program makes arrays anew, and so do
// those of the peers. Areas of lives that have ended are kept until their
// successors come or nobody else is left, since others may not have ended theirs
// yet.
func (d *stores) begin() {
	n := len(d.peers)
	if d.areas == nil {
		d.areas, d.ended = make([]*arena.Area, n), make([]bool, n)
	}
	self := d.setup.Self.Replica
	d.areas[self] = nil
	d.arena.Begin(d.setup.Incarnation)
	d.claims = direct.New(areaWords{d}, self, n, func(replica int) bool { return d.machine.Live(replica) })
}

// died: a replica is dead. What it has made may yet be taken from its area.
func (d *stores) died(replica int) { d.ended[replica] = true }

// admit: another process has taken the place of a replica, at a cut, where
// nobody is in a section.
func (d *stores) admit(replica int) { d.drop(replica) }

// drop gives up the area of a peer, and its memory if the peer is dead.
func (d *stores) drop(replica int) {
	area := d.areas[replica]
	if area == nil {
		return
	}
	if d.ended[replica] {
		if err := area.Clear(); err != nil {
			d.notes.add("%v", err)
		}
	}
	area.Close()
	d.areas[replica], d.ended[replica] = nil, false
}

// begun reports whether the program has made arrays that others can store into.
func (d *stores) begun() bool {
	self := d.setup.Self.Replica
	if d.areas[self] == nil {
		d.areas[self] = d.arena.Own()
	}
	return d.areas[self] != nil
}
