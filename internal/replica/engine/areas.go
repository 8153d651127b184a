package engine

import (
	"github.com/intrahpc/intra/internal/base/arena"
	"github.com/intrahpc/intra/internal/replica/direct"
)

// areaWords are the words of the areas that the protocol of claims accesses. The words of
// an unknown area read as 0, which means that nothing is claimed there.
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

// agreedWords are the words by which all replicas agree on how a section is completed.
type agreedWords struct{ *arena.Arena }

func (w agreedWords) Load(k int) uint64 { return w.Agreed(k).Load() }

func (w agreedWords) CompareAndSwap(k int, old, new uint64) bool {
	return w.Agreed(k).CompareAndSwap(old, new)
}

var ( // compile-time checks that the arena has enough words
	_ [arena.Words - direct.NumWords]struct{}
	_ [arena.Agreements - direct.NumAgreements]struct{}
)

// Life returns this replica and the incarnation in which the program begins.
func (h *sharing) Life() arena.Life {
	h.mu.Lock()
	defer h.mu.Unlock()
	return arena.Life{Replica: h.setup.Self.Replica, Incarnation: h.setup.Incarnation}
}

// StoreInto allows the replicas of this rank to store into each other's memory from a.
func (h *sharing) StoreInto(a *arena.Arena) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stores = &stores{sharing: h, arena: a, large: alongFrom, part: alongBytes}
	h.stores.begin()
}

// CannotStore adds a note on why the replicas share no memory, for a user who asked for
// stores.
func (h *sharing) CannotStore(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes.add("results are sent, not stored: %v", err)
}

// Stores reports whether the replicas of this rank share memory.
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

// begin starts a life of this replica, in which its program allocates its arrays again. So
// do the programs of its peers. Some peers may still be in their former lives. So the area
// of a peer's former life is kept until its new area is found or no peer is left.
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

// died records that a replica is dead. Its results may still be copied out of its area.
func (d *stores) died(replica int) { d.ended[replica] = true }

// admit drops the area of a replica that another process has replaced. It is called in a
// cut, where no process is in a section.
func (d *stores) admit(replica int) { d.drop(replica) }

// drop closes the area of a peer. It clears the area first if the peer is dead.
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

// begun reports whether the program has made arrays that peers can store into.
func (d *stores) begun() bool {
	self := d.setup.Self.Replica
	if d.areas[self] == nil {
		d.areas[self] = d.arena.Own()
	}
	return d.areas[self] != nil
}
