package verify

// Watch is the protocol by which the replicas of a rank find that their program has
// diverged. Its methods are not safe for concurrent use.
//
// Each replica sends the hashes that it takes (Pace decides where) to all live peers, and
// continues. No replica waits for a hash, so none waits for a dead or late replica. Each
// of two replicas compares the two hashes of one place. The hashes of a dead replica
// count, because its death does not make them wrong. A joiner has sent none.
//
// A replica that has found a difference proposes its next place as the place to stop at. A
// replica that receives a proposal adds its own next place. All replicas use the latest
// place that they know of, and send it on when it changes. So the replicas agree even if a
// dying one has informed only some of its peers. At that place each replica waits until
// all live peers have named the same place. Then it sends a table of hashes of blocks to
// the lead, which is the lowest live replica. The lead asks a replica whose table differs
// for the first block that does, and reports the difference. If the lead dies, the next lead
// begins again. If the job continues, the lead ends the comparisons. Each replica forwards that
// message once, so that all live replicas receive it. No replica waits for a replica whose program
// has returned, because it reaches no further place.
type Watch struct {
	me    int
	own   hashes
	peers []watched
	found *Difference

	target   Place              // where all replicas stop; its number is 0 while no difference is known
	proposed map[PlaceKind]bool // by kind of place: this replica has proposed its next place
	stopped  bool               // this replica has stopped at the target
	table    Table              // table of this replica at the target
	sentTo   int                // 1 + the replica to which the table was sent; 0: not sent
	asked    *Block             // block that this replica has requested as the lead
	got      *Block             // block received as the answer to asked
	wanted   *Block             // block that the lead wants from this replica
	tries    int                // places at which this replica, as the lead, found no difference
	over     bool               // the difference was reported: comparisons have ended
	compared int64
	out      []Send
}

// watched is the state of a peer.
type watched struct {
	dead, finished bool
	hashes         hashes
	target         Place // place that it has named last
	table          Table // its table at its target
}

// mostTries is the number of further sections at which the replicas stop, if the tasks of
// the first section read no memory that differs.
const mostTries = 16

// Table holds hashes of the contents of a replica at a place. For each item it has the
// size, followed by the hashes of its blocks.
type Table [][]uint64

// Block is a part of an item of a peer.
type Block struct {
	Peer, Item, Block int    // Block -1: only the sizes of the items differ, or one replica lacks the item
	Size              uint64 // size of the item of the peer
	Bytes             []byte
}

// WatchKind is the kind of a message of Watch.
type WatchKind uint8

// The kinds of messages of Watch.
const (
	WatchHashes WatchKind = iota // Hashes at Place
	WatchStop                    // the sender stops at Place, because of Found
	WatchTable                   // Table at Place
	WatchWant                    // requests Block of Item
	WatchBlock                   // Bytes of Item and Block at Place
	WatchOver                    // the difference was reported: comparisons have ended
)

// WatchWord is a message of a replica to a peer.
type WatchWord struct {
	Kind        WatchKind
	Place       Place
	Hashes      []uint64
	Found       *Difference
	Table       Table
	Item, Block int
	Bytes       []byte
}

// Send is a message and the peer to which it is sent.
type Send struct {
	To   int
	Word *WatchWord
}

// WatchStep is the next step of a replica that has stopped.
type WatchStep uint8

// The steps of a replica that has stopped.
const (
	WatchWait  WatchStep = iota // wait for messages, or deaths
	WatchLeave                  // continue the program
	WatchGive                   // send the block that the lead wants
	WatchTell                   // report the difference: this replica is the lead
)

// NewWatch returns the protocol of the given replica of the rank.
func NewWatch(replica, replicas int) *Watch {
	w := &Watch{me: replica, own: newHashes(), peers: make([]watched, replicas), proposed: make(map[PlaceKind]bool)}
	for p := range w.peers {
		w.peers[p] = watched{hashes: newHashes()}
	}
	return w
}

// Alive marks a dead peer live, at a safe point.
func (w *Watch) Alive(p int) []Send {
	w.peers[p] = watched{hashes: newHashes()}
	switch {
	case w.over:
		w.send(p, &WatchWord{Kind: WatchOver})
	case w.target.Number > 0:
		w.send(p, &WatchWord{Kind: WatchStop, Place: w.target, Found: w.found})
	}
	return w.sends()
}

// Dead marks a peer dead, after everything that it sent was received.
func (w *Watch) Dead(p int) { w.peers[p].dead = true }

// Finished records that the program of a peer has returned.
func (w *Watch) Finished(p int) { w.peers[p].finished = true }

// Found returns the first difference that is known, nil if there is none.
func (w *Watch) Found() *Difference { return w.found }

// Compared returns the number of hashes that were compared with those of higher replicas.
// So all replicas together count each pair once.
func (w *Watch) Compared() int64 { return w.compared }

// Pass records the hashes of this replica at a place.
func (w *Watch) Pass(at Place, of []uint64) []Send {
	if w.found != nil {
		return nil
	}
	w.own.put(at, of)
	for p := range w.peers {
		if w.lives(p) {
			w.send(p, &WatchWord{Kind: WatchHashes, Place: at, Hashes: of})
		}
		if other, ok := w.peers[p].hashes.at[at]; ok && p != w.me {
			w.compare(p, at, of, other)
		}
	}
	return w.sends()
}

// Receive handles a message from a peer.
func (w *Watch) Receive(p int, word *WatchWord) []Send {
	x := &w.peers[p]
	switch word.Kind {
	case WatchHashes:
		if w.found != nil {
			break
		}
		x.hashes.put(word.Place, word.Hashes)
		if mine, ok := w.own.at[word.Place]; ok {
			w.compare(p, word.Place, mine, word.Hashes)
		}
	case WatchStop:
		if x.target, x.table = word.Place, nil; w.found == nil {
			w.found = word.Found
		}
		w.raise(word.Place)
	case WatchTable:
		x.target, x.table = word.Place, word.Table
	case WatchWant:
		if w.stopped && word.Place == w.target {
			w.wanted = &Block{Peer: p, Item: word.Item, Block: word.Block}
		}
	case WatchBlock:
		if a := w.asked; a != nil && word.Place == w.target && a.Peer == p && a.Item == word.Item && a.Block == word.Block {
			w.got = &Block{Peer: p, Item: a.Item, Block: a.Block, Size: a.Size, Bytes: word.Bytes}
		}
	case WatchOver:
		if !w.over {
			return w.End() // its sender may have died before it could inform all
		}
	}
	return w.sends()
}

func (w *Watch) compare(p int, at Place, mine, theirs []uint64) {
	if w.me < p {
		w.compared++
	}
	if d := differ(at, w.me, p, mine, theirs); d != nil && w.found == nil {
		w.found = d
	}
}

// Wants reports whether this replica has to propose its next place of a kind.
func (w *Watch) Wants() (kind PlaceKind, ok bool) {
	if w.found == nil || w.over {
		return 0, false
	}
	kind = max(w.found.Place.Kind, w.target.Kind)
	return kind, !w.proposed[kind]
}

// Propose adds the next place of this replica, of the kind that Wants returned.
func (w *Watch) Propose(next Place) []Send {
	w.proposed[next.Kind] = true
	w.raise(next)
	return w.sends()
}

// raise moves the target to a place, if that is later.
func (w *Watch) raise(to Place) {
	if !w.target.Before(to) {
		return
	}
	w.target, w.stopped, w.sentTo, w.asked, w.got, w.wanted = to, false, 0, nil, nil, nil
	for p := range w.peers {
		if w.lives(p) {
			w.send(p, &WatchWord{Kind: WatchStop, Place: w.target, Found: w.found})
		}
	}
}

// Stops reports whether this replica has to stop at the place that it has reached.
func (w *Watch) Stops(at Place) bool {
	return w.found != nil && !w.over && at == w.target
}

// Stop records the table of this replica at a place where it stops. The table is ignored
// if the replicas have agreed on a later place while it was made.
func (w *Watch) Stop(at Place, table Table) {
	if at == w.target {
		w.stopped, w.table = true, table
	}
}

// Step returns the next step of a replica that has stopped. For WatchGive and WatchTell it
// also returns a block. The block is nil if no block differs, or if there is no other
// replica to compare with.
func (w *Watch) Step() (step WatchStep, of *Block, out []Send) {
	switch {
	case w.over || !w.stopped:
		return WatchLeave, nil, nil
	case w.wanted != nil:
		of, w.wanted = w.wanted, nil
		return WatchGive, of, nil
	}
	for p := range w.peers {
		if w.comes(p) && w.peers[p].target != w.target {
			return WatchWait, nil, nil
		}
	}
	if lead := w.lead(); lead != w.me {
		if w.sentTo != lead+1 {
			w.sentTo = lead + 1
			w.send(lead, &WatchWord{Kind: WatchTable, Place: w.target, Table: w.table})
		}
		return WatchWait, nil, w.sends()
	}
	var first *Block
	for p := range w.peers {
		switch {
		case !w.comes(p):
		case w.peers[p].table == nil:
			return WatchWait, nil, nil
		case first == nil:
			first = w.table.differs(p, w.peers[p].table)
		}
	}
	switch {
	case first == nil && w.target.Kind == AtSection && w.tries < mostTries && w.Others():
		w.tries++ // the next tasks may read the memory that differs
		w.raise(Place{AtSection, w.target.Number + 1})
		return WatchLeave, nil, w.sends()
	case first == nil || first.Block < 0:
		return WatchTell, first, nil
	case w.asked == nil || w.asked.Peer != first.Peer:
		w.asked, w.got = first, nil
		w.send(first.Peer, &WatchWord{Kind: WatchWant, Place: w.target, Item: first.Item, Block: first.Block})
		return WatchWait, nil, w.sends()
	case w.got == nil:
		return WatchWait, nil, nil
	}
	return WatchTell, w.got, nil
}

// End ends all comparisons, because the difference was reported or this replica no longer
// waits to find it.
func (w *Watch) End() []Send {
	w.over = true
	for p := range w.peers {
		if w.lives(p) {
			w.send(p, &WatchWord{Kind: WatchOver})
		}
	}
	return w.sends()
}

// HasAll reports whether this replica has the hashes of a place from all peers that may
// still hash it. This replica has hashed the place itself.
func (w *Watch) HasAll(at Place) bool {
	for p := range w.peers {
		if _, ok := w.peers[p].hashes.at[at]; !ok && w.comes(p) {
			return false
		}
	}
	return true
}

// Others reports whether another replica can reach the place where all stop.
func (w *Watch) Others() bool {
	for p := range w.peers {
		if w.comes(p) {
			return true
		}
	}
	return false
}

// Over reports whether comparisons have ended.
func (w *Watch) Over() bool { return w.over }

// differs returns the first block that differs in the table of a peer, nil if there is none.
func (t Table) differs(p int, o Table) *Block {
	for i := range min(len(t), len(o)) {
		a, b := t[i], o[i]
		for j := 1; j < min(len(a), len(b)); j++ {
			if a[j] != b[j] {
				return &Block{Peer: p, Item: i, Block: j - 1, Size: b[0]}
			}
		}
		if a[0] != b[0] {
			return &Block{Peer: p, Item: i, Block: -1, Size: b[0]}
		}
	}
	if len(t) != len(o) {
		return &Block{Peer: p, Item: min(len(t), len(o)), Block: -1}
	}
	return nil
}

// lead returns the lowest replica that can reach the target.
func (w *Watch) lead() int {
	for p := range w.me {
		if w.comes(p) {
			return p
		}
	}
	return w.me
}

func (w *Watch) lives(p int) bool { return p != w.me && !w.peers[p].dead }

func (w *Watch) comes(p int) bool { return w.lives(p) && !w.peers[p].finished }

func (w *Watch) send(p int, word *WatchWord) { w.out = append(w.out, Send{p, word}) }

func (w *Watch) sends() []Send {
	out := w.out
	w.out = nil
	return out
}
