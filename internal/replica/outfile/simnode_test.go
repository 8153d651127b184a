package outfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/internal/testkit/simdisk"
)

// simNode is a replica of a rank.
type simNode struct {
	r       *simRank
	id      int
	host    *simdisk.Host
	o       *section.Once
	m       *Machine
	dead    bool
	open    bool
	acts    []Action // actions in progress
	done    int
	runs    bool
	handled int
	at      int // position in the script
	calls   int // number of calls whose outcome it has
	pending *Call
	then    []Call // calls to make before the next item of the script
	undone  bool   // the item of the script was already truncated once
	image   *simImage
	again   []simCall // calls that it has yet to repeat
}

// simImage is a place in the program of a node from which it can run again, alone.
type simImage struct {
	m      *Machine
	at     int
	then   []Call
	undone bool
	calls  []simCall // made since
}

// simCall is a call that a node has made, with its outcome.
type simCall struct {
	call    Call
	outcome []byte
}

// settle makes an image.
func (n *simNode) settle() {
	n.image = &simImage{m: n.m.Clone(), at: n.at, then: slices.Clone(n.then), undone: n.undone}
}

// goBack continues the node at its image.
func (n *simNode) goBack() {
	i := n.image
	n.m, n.at, n.then, n.undone, n.again = i.m, i.at, i.then, i.undone, i.calls
	n.settle()
}

// repeat makes a call that the node has made before.
func (n *simNode) repeat(c Call) {
	was := n.again[0]
	n.again = n.again[1:]
	if !reflect.DeepEqual(c, was.call) {
		n.r.err = fmt.Errorf("replica %d runs again and makes call %v, want %v", n.id, c, was.call)
		return
	}
	n.ended(c, was.outcome)
}
func (n *simNode) perform(acts []section.OnceAction) {
	for _, a := range acts {
		if a.Kind != section.OnceRun {
			n.r.links[n.id][a.Peer] = append(n.r.links[n.id][a.Peer], a)
			continue
		}
		n.runs, n.acts, n.done = true, n.m.Carry(*n.pending, n.r.keeps), 0
	}
}

func (n *simNode) deliver(from int) {
	q := &n.r.links[from][n.id]
	w := (*q)[0]
	*q = (*q)[1:]
	switch w.Kind {
	case section.OnceSend:
		n.perform(n.o.Result(from, w.Number, w.Result))
	case section.OnceSayHave:
		n.o.Have(from, w.Number)
	case section.OnceAsk:
		n.perform(n.o.Query(from, w.Number, w.Deaths))
	case section.OnceSayNone:
		n.perform(n.o.None(from, w.Number, w.Deaths))
	}
}

// next returns the next call of the program, nil if the program is at a cut or has ended.
func (n *simNode) next() *Call {
	if len(n.then) > 0 {
		return &n.then[0]
	}
	if n.at == len(n.r.script) || n.r.script[n.at].cut {
		return nil
	}
	it := n.r.script[n.at]
	c := it.call
	if it.append {
		c.Pieces, it.call.Pieces = nil, it.call.Pieces[:1]
		c.Pieces = []Piece{{n.m.End(), it.call.Pieces[0].Data}}
	}
	if _, low := lowest(c.Pieces); c.Kind == Write && len(c.Pieces) > 0 && low < n.m.Before() {
		return &Call{Kind: Fork, Size: n.m.End()}
	}
	return &c
}

func lowest(pieces []Piece) (int, int64) {
	best, low := 0, int64(0)
	for i, p := range pieces {
		if i == 0 || p.Offset < low {
			best, low = i, p.Offset
		}
	}
	return best, low
}

// moves lists the possible moves of a node.
func (n *simNode) moves() (moves []func()) {
	r := n.r
	for from := range r.nodes {
		if len(r.links[from][n.id]) > 0 {
			moves = append(moves, func() { n.deliver(from) })
		}
	}
	if n.handled < len(r.epoch) && len(r.links[r.epoch[n.handled]][n.id]) == 0 {
		moves = append(moves, func() {
			n.perform(n.o.Dead(r.epoch[n.handled]))
			n.handled++
		})
	}
	switch {
	case n.runs && n.done < len(n.acts):
		moves = append(moves, func() {
			if r.growing && n.acts[n.done].Kind == WriteAt && r.rng.IntN(12) == 0 { // the disk is full
				act(n.host, Action{Kind: WriteAt, Piece: half(n.acts[n.done].Piece)}, n.m.Version())
				n.report()
				return
			}
			if a := n.acts[n.done]; a.Whole && int64(len(n.host.View(n.m.Version()))) < a.Size {
				r.err = fmt.Errorf("replica %d has bytes that are not durable before it truncates the file to %d", n.id, a.Size)
			}
			if got := n.host.View(n.m.Version()); n.acts[n.done].Kind == ReadAt && n.calls == r.calls && !bytes.Equal(got, r.want) {
				r.err = fmt.Errorf("replica %d reads %v, want %v", n.id, got, r.want)
			}
			act(n.host, n.acts[n.done], n.m.Version())
			n.done++
		})
	case n.runs:
		moves = append(moves, n.report)
	case !n.open:
		switch k := r.rng.IntN(12); {
		case len(n.again) > 0:
		case k < 4:
			moves = append(moves, n.settle)
		case n.image != nil && (k == 4 || n.handled > 0 && k > 8): // mostly after a death
			moves = append(moves, n.goBack)
		}
		if c := n.next(); c != nil && len(n.again) > 0 {
			moves = append(moves, func() { n.repeat(*c) })
		} else if c != nil {
			moves = append(moves, func() {
				n.pending, n.open = c, true
				n.perform(n.o.Enter())
			})
		}
	default:
		if v, ok := n.o.Done(); ok {
			moves = append(moves, func() { n.leave(v) })
		}
	}
	if len(n.host.Dirty) > 0 {
		moves = append(moves, func() { n.host.Flush(1 + r.rng.IntN(len(n.host.Dirty))) })
	}
	return moves
}

func half(p Piece) Piece { return Piece{p.Offset, p.Data[:len(p.Data)/2]} }

// report reports the outcome of the call that the node carries out.
func (n *simNode) report() {
	o := n.m.Result(n.acts, n.done)
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	n.runs = false
	n.perform(n.o.Result(n.id, n.o.Number(), b))
}

// leave ends a call with its outcome.
func (n *simNode) leave(v []byte) {
	c := *n.pending
	o := n.ended(c, v)
	n.o.Leave()
	n.open = false
	n.calls++
	if n.calls <= n.r.calls {
		return
	}
	n.r.calls = n.calls
	if o.OK && c.Kind == Write {
		for _, p := range c.Pieces {
			n.r.want = simdisk.Put(n.r.want, p.Offset, p.Data)
		}
	}
	if o.OK && c.Kind == Back {
		n.r.want = n.r.want[:min(int64(len(n.r.want)), c.Size)]
	}
}

// ended handles the outcome of a call, in any run of the node.
func (n *simNode) ended(c Call, v []byte) Outcome {
	var o Outcome
	if err := json.Unmarshal(v, &o); err != nil {
		panic(err)
	}
	if n.image != nil {
		n.image.calls = append(n.image.calls, simCall{c, v})
	}
	end := n.m.End()
	n.m.Carried(c, o, n.r.keeps)
	kept := 0
	for _, p := range n.m.kept.pieces {
		kept += len(p.Data)
	}
	if kept > simLimit {
		n.r.err = fmt.Errorf("replica %d keeps %d bytes", n.id, kept)
	}
	switch {
	case !o.OK: // truncate the record, and try again
		n.then = append([]Call{{Kind: Back, Size: end}}, n.then...)
		if c.Kind == Back {
			n.then = n.then[:len(n.then)-1]
		}
	case len(n.then) > 0:
		n.then = n.then[1:]
	case c.Kind == Write && n.r.script[n.at].undone && !n.undone:
		n.undone, n.then = true, []Call{{Kind: Back, Size: end}}
	case c.Kind != Fork:
		n.undone = false
		n.at++
	}
	return o
}
