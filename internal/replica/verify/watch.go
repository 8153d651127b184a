package verify

// Watch is the protocol by which the replicas of a rank find that their program has
// diverged. Its methods are not safe for concurrent use.
//
// Each replica sends the hashes that it takes (Pace says where) to all peers that live, and
// goes on: no replica waits for a hash, so none waits for a replica that is dead or late.
// Two hashes of one place are compared by both ends. What a dead replica has sent counts,
// as the hash was right when it was sent. A joiner has sent nothing.
//
// A replica that has found a difference proposes a place to stop at that it has not come to,
// its next one. Whoever receives a proposal adds its own next place, and all take the
// latest place of those that they know of, and send it on when it has changed. So it does not
// matter of whose proposals a dying replica has informed some peers only. At that place
// each waits until all peers that live have named the same place, and sends a table of hashes of blocks to
// the lead, the lowest that lives. The lead asks a replica whose table differs for the first block that does,
// and tells what it is. If the lead dies, the next one begins again. A replica that has finished its program
// comes to no place any more, and is not waited for.
type Watch struct {
	me    int
	own   hashes
	peers []watched
	found *Difference

	target   Place              // where all stop; its number is 0 before a difference is known
	proposed map[PlaceKind]bool // this replica has named its next place of that kind
	stopped  bool               // at the target
	table    Table              // what it has there
	told     int                // 1 + to whom the table was sent
	asked    *Block             // what the lead has asked for
	got      *Block             // and received
	wanted   *Block             // what the lead wants of this replica
	tries    int                // places at which all was alike, as the lead
	over     bool               // all was told: there are no comparisons any more
	compared int64
	out      []Send
}

// watched is what is known of a peer.
type watched struct {
	dead, finished bool
	hashes         hashes
	target         Place // that it has named last
	table          Table // at its target
}

// mostTries is at how many sections more the replicas stop if their tasks read nothing that differs.
const mostTries = 16

// Table holds hashes of what a replica has at a place: of each item its size and then those of its
// blocks.
type Table [][]uint64

// Block is a part of an item of a peer.
type Block struct {
	Peer, Item, Block int    // Block -1: the items have other sizes, and what they have in common is alike
	Size              uint64 // of the item of the peer
	Bytes             []byte
}

// WatchKind tells the words of Watch apart.
type WatchKind uint8

// The kinds of words.
const (
	WatchHashes WatchKind = iota // Hashes at Place
	WatchStop                    // "I stop at Place, since Found"
	WatchTable                   // Table at Place
	WatchWant                    // "send me Item and Block"
	WatchBlock                   // Bytes of Item and Block at Place
	WatchOver                    // "all was told"
)

// WatchWord is what a replica sends to a peer.
type WatchWord struct {
	Kind        WatchKind
	Place       Place
	Hashes      []uint64
	Found       *Difference
	Table       Table
	Item, Block int
	Bytes       []byte
}

// Send is a word on its way.
type Send struct {
	To   int
	Word *WatchWord
}

// WatchStep is what a replica that has stopped does next.
type WatchStep uint8

// The steps.
const (
	WatchWait  WatchStep = iota // for words, or deaths
	WatchLeave                  // go on with the program
	WatchGive                   // send the block that the lead wants
	WatchTell                   // tell what differs: this is the lead
)

// NewWatch returns the protocol of one of so many replicas.
func NewWatch(replica, replicas int) *Watch {
	w := &Watch{me: replica, own: newHashes(), peers: make([]watched, replicas), proposed: make(map[PlaceKind]bool)}
	for p := range w.peers {
		w.peers[p] = watched{hashes: newHashes()}
	}
	return w
}

// Alive makes a peer live that was dead, at a safe point.
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

// Dead removes a peer, once all that it has sent was received.
func (w *Watch) Dead(p int) { w.peers[p].dead = true }

// Finished notes that the program of a peer has returned.
func (w *Watch) Finished(p int) { w.peers[p].finished = true }

// Found returns the first difference that is known, nil if there is none.
func (w *Watch) Found() *Difference { return w.found }

// Compared returns how many hashes were compared with those of a higher replica, so that
// all replicas together count each pair once.
func (w *Watch) Compared() int64 { return w.compared }

// Pass takes the hashes that this replica has at a place.
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

// Hear takes a word of a peer.
func (w *Watch) Hear(p int, word *WatchWord) []Send {
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
		if x.target, x.table = word.Place, nil; w.over {
			w.send(p, &WatchWord{Kind: WatchOver})
			break
		}
		if w.found == nil {
			w.found = word.Found
		}
		w.raise(word.Place)
	case WatchTable:
		x.target, x.table = word.Place, word.Table
		if w.over {
			w.send(p, &WatchWord{Kind: WatchOver})
		}
	case WatchWant:
		if w.stopped && word.Place == w.target {
			w.wanted = &Block{Peer: p, Item: word.Item, Block: word.Block}
		}
	case WatchBlock:
		if a := w.asked; a != nil && word.Place == w.target && a.Peer == p && a.Item == word.Item && a.Block == word.Block {
			w.got = &Block{Peer: p, Item: a.Item, Block: a.Block, Size: a.Size, Bytes: word.Bytes}
		}
	case WatchOver:
		w.over = true
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

// Propose takes the next place of this replica, of the kind that it has to propose.
func (w *Watch) Propose(next Place) []Send {
	w.proposed[next.Kind] = true
	w.raise(next)
	return w.sends()
}

// raise takes a place to stop at, if it is later than the one that is known.
func (w *Watch) raise(to Place) {
	if !w.target.Before(to) {
		return
	}
	w.target, w.stopped, w.told, w.asked, w.got, w.wanted = to, false, 0, nil, nil, nil
	for p := range w.peers {
		if w.lives(p) {
			w.send(p, &WatchWord{Kind: WatchStop, Place: w.target, Found: w.found})
		}
	}
}

// Stops reports whether this replica, which has come to a place, is to stop there.
func (w *Watch) Stops(at Place) bool {
	return w.found != nil && !w.over && at == w.target
}

// Stop takes the table of what this replica has at a place where it stops. While the table was made
// all may have agreed on a later place.
func (w *Watch) Stop(at Place, table Table) {
	if at == w.target {
		w.stopped, w.table = true, table
	}
}

// Step says what a replica that has stopped does next. For WatchGive and WatchTell there is a
// block, which is nil if no block differs or there is no other replica to compare with.
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
		if w.told != lead+1 {
			w.told = lead + 1
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
		w.tries++ // the next tasks may read what differs
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

// End ends all comparisons, since it was told what differs, or this replica waits for that no longer.
func (w *Watch) End() []Send {
	w.over = true
	for p := range w.peers {
		if w.lives(p) {
			w.send(p, &WatchWord{Kind: WatchOver})
		}
	}
	return w.sends()
}

// Heard reports whether there is no hash at a place, which this replica has hashed, that a
// peer may still send.
func (w *Watch) Heard(at Place) bool {
	for p := range w.peers {
		if _, ok := w.peers[p].hashes.at[at]; !ok && w.comes(p) {
			return false
		}
	}
	return true
}

// Others reports whether there is another replica that comes to the place where all stop.
func (w *Watch) Others() bool {
	for p := range w.peers {
		if w.comes(p) {
			return true
		}
	}
	return false
}

// Over reports whether there are no comparisons any more.
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

// lead is the lowest replica that comes to the target.
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
