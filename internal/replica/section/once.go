package section

import (
	"maps"
	"slices"
)

// Once is the protocol by which one replica of a rank runs a function with effects outside
// the job, and all replicas get its result. The runner is the lowest live replica. No
// replica continues before every live replica holds the result, so no death can lose a
// result that a replica has used. A new runner asks the survivors before it runs the
// function again.
type Once struct {
	me     int
	peers  []oncePeer
	joined bool // this replica joined a running job, in which earlier runners may have run calls

	number uint64 // number of the current or next call
	open   bool
	ran    bool   // OnceRun was returned for the open call
	asked  bool   // the survivors were asked, or were sent the result, after the last death
	died   uint64 // number of deaths so far; all replicas count the same deaths
	acts   []OnceAction

	results map[uint64][]byte // results of the last call, the open call and later ones
	again   uint64            // this replica held the results of earlier calls when a peer joined, so it sends Have for them once more
	queries []onceQuery       // they wait until this replica has counted as many deaths as the asking peer
	have    map[uint64][]int  // by call: peers whose Have arrived before this replica opened the call
}

type oncePeer struct {
	dead  bool
	holds bool // it holds the result of the open call
	none  bool // it has answered the last query: it does not hold the result
}

type onceQuery struct {
	peer           int
	number, deaths uint64
}

// OnceAction is one step that the caller takes for the Once.
type OnceAction struct {
	Kind   OnceActionKind
	Peer   int
	Number uint64
	Deaths uint64 // number of deaths, in OnceAsk and OnceSayNone
	Result []byte // result to send, in OnceSend
}

// OnceActionKind is the kind of a OnceAction.
type OnceActionKind uint8

// The actions of a OnceAction.
const (
	OnceRun     OnceActionKind = iota // call the function, then Result with its result
	OnceSend                          // send Result to Peer
	OnceSayHave                       // report to Peer that this replica holds the result
	OnceAsk                           // ask Peer whether it holds the result
	OnceSayNone                       // answer Peer that this replica does not hold the result
)

// NewOnce returns the protocol of the given replica, in a rank of that many replicas.
func NewOnce(replica, replicas int) *Once {
	return &Once{me: replica, peers: make([]oncePeer, replicas),
		results: make(map[uint64][]byte), have: make(map[uint64][]int)}
}

// NewOnceAt returns the protocol of a replica that begins at a position. All its peers are
// dead until Alive is called for them.
func NewOnceAt(replica, replicas int, at Position) *Once {
	o := NewOnce(replica, replicas)
	o.joined, o.number, o.died = true, at.Once, at.Deaths
	maps.Copy(o.results, at.Results)
	for p := range o.peers {
		o.peers[p].dead = p != o.me
	}
	return o
}

// Alive revives a dead peer: it takes part again, beginning with the next call. All replicas call
// it between the same two calls.
func (o *Once) Alive(p int) {
	o.peers[p] = oncePeer{}
	for number := range o.results {
		o.again = max(o.again, number+1)
	}
}

// Position sets the fields of Once in at, between two calls. Results of later calls come
// from a runner that was ahead and has since died. That runner may have used these
// results, so a replica that starts from the position must get them.
func (o *Once) Position(at *Position) {
	at.Once, at.Deaths, at.Results = o.number, o.died, nil
	for number, result := range o.results {
		if number >= o.number {
			if at.Results == nil {
				at.Results = make(map[uint64][]byte)
			}
			at.Results[number] = result
		}
	}
}

// Number returns the number of the open call, or of the next one.
func (o *Once) Number() uint64 { return o.number }

// Enter opens the next call.
func (o *Once) Enter() []OnceAction {
	o.acts = o.acts[:0]
	o.open, o.ran, o.asked = true, false, false
	for p := range o.peers {
		o.peers[p].holds, o.peers[p].none = false, false
	}
	for _, p := range o.have[o.number] {
		o.peers[p].holds = true
	}
	delete(o.have, o.number)
	if _, ok := o.results[o.number]; ok {
		o.peers[o.me].holds = true
		if o.number < o.again {
			o.sayHave(o.number)
		}
	}
	o.advance()
	return o.acts
}

// Done returns the result of the call. ok means that every live replica holds it.
func (o *Once) Done() (result []byte, ok bool) {
	for p := range o.peers {
		if !o.peers[p].dead && !o.peers[p].holds {
			return nil, false
		}
	}
	return o.results[o.number], true
}

// Leave closes the call. Its result is kept until the next call is left, because a peer
// may still ask for it.
func (o *Once) Leave() {
	o.open = false
	if o.number > 0 {
		delete(o.results, o.number-1)
	}
	o.number++
}

// Result records the result of a call. It was sent by a peer, or the function has returned
// it here.
func (o *Once) Result(from int, number uint64, result []byte) []OnceAction {
	o.acts = o.acts[:0]
	if number < o.number {
		return nil
	}
	o.holder(from, number)
	if _, ok := o.results[number]; !ok {
		o.results[number] = result
		o.holder(o.me, number)
		o.asked = false // if this replica is now the runner, it sends the result to the peers that lack it
		o.sayHave(number)
	}
	o.advance()
	return o.acts
}

func (o *Once) sayHave(number uint64) {
	for p := range o.peers {
		if p != o.me && !o.peers[p].dead {
			o.acts = append(o.acts, OnceAction{Kind: OnceSayHave, Peer: p, Number: number})
		}
	}
}

// Have records that a peer holds the result of a call.
func (o *Once) Have(from int, number uint64) { o.holder(from, number) }

func (o *Once) holder(p int, number uint64) {
	switch {
	case o.open && number == o.number:
		o.peers[p].holds = true
	case number >= o.number && p != o.me:
		o.have[number] = append(o.have[number], p)
	}
}

// Query answers a peer that may have to run the function. The answer waits until this
// replica has handled as many deaths as the peer. Until then the result of a dead runner
// could still arrive.
func (o *Once) Query(from int, number, deaths uint64) []OnceAction {
	o.acts = o.acts[:0]
	o.queries = append(o.queries, onceQuery{from, number, deaths})
	o.answer()
	return o.acts
}

func (o *Once) answer() {
	kept := o.queries[:0]
	for _, q := range o.queries {
		switch result, ok := o.results[q.number]; {
		case ok:
			o.acts = append(o.acts, OnceAction{Kind: OnceSend, Peer: q.peer, Number: q.number, Result: result})
		case o.died >= q.deaths:
			o.acts = append(o.acts, OnceAction{Kind: OnceSayNone, Peer: q.peer, Number: q.number, Deaths: q.deaths})
		default:
			kept = append(kept, q)
		}
	}
	o.queries = kept
}

// None records that a peer has answered that it does not hold the result. Answers to
// queries from before a later death are ignored.
func (o *Once) None(from int, number, deaths uint64) []OnceAction {
	o.acts = o.acts[:0]
	if o.open && number == o.number && deaths == o.died {
		o.peers[from].none = true
		o.advance()
	}
	return o.acts
}

// Dead removes a peer, once all its frames have been delivered.
func (o *Once) Dead(p int) []OnceAction {
	o.acts = o.acts[:0]
	if !o.peers[p].dead {
		o.died++
	}
	o.peers[p].dead = true
	for number, all := range o.have { // its replacement does not hold the results that the dead peer held
		o.have[number] = slices.DeleteFunc(all, func(q int) bool { return q == p })
	}
	o.asked = false
	for i := range o.peers {
		o.peers[i].none = false
	}
	o.answer()
	o.advance()
	return o.acts
}

func (o *Once) runner() int {
	for p := range o.peers {
		if !o.peers[p].dead {
			return p
		}
	}
	return o.me
}

// advance performs the duties of the runner if this replica is the runner.
func (o *Once) advance() {
	if !o.open || o.runner() != o.me {
		return
	}
	me := &o.peers[o.me]
	if me.holds {
		// After each death, peers that have not sent Have may lack the result.
		if !o.asked {
			o.asked = true
			for p := range o.peers {
				if q := o.peers[p]; p != o.me && !q.dead && !q.holds {
					o.acts = append(o.acts, OnceAction{Kind: OnceSend, Peer: p, Number: o.number, Result: o.results[o.number]})
				}
			}
		}
		return
	}
	if o.ran {
		return
	}
	asks := o.me > 0 || o.joined
	if asks && !o.asked {
		// An earlier runner may have sent its result to a survivor before it died. It may even
		// have passed the consistent cut at which this replica joined.
		o.asked = true
		for p := range o.peers {
			if p != o.me && !o.peers[p].dead {
				o.acts = append(o.acts, OnceAction{Kind: OnceAsk, Peer: p, Number: o.number, Deaths: o.died})
			}
		}
	}
	for p := range o.peers {
		if q := o.peers[p]; asks && p != o.me && !q.dead && !q.none {
			return
		}
	}
	o.ran = true
	o.asked = false // the result must be sent to all peers later
	o.acts = append(o.acts, OnceAction{Kind: OnceRun, Number: o.number})
}
