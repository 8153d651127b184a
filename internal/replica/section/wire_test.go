package section

import (
	"slices"
)

// wire is one direction of a link. It holds the frames that were handed over and not
// delivered.
type wire struct {
	frames []frame
	closed bool // closed by the death of the sender
	inside int  // number of words of the first frame that were delivered
	place  Place
}

type frame struct {
	update Update
	claim  bool
	in     bool // message that its sender has entered the section, without data
	bye    bool
	words  []uint64
	torn   int  // > 0: the number of words that were handed over before the death of the sender
	lost   bool // an update that was lost with a connection
}

func (n *node) post(to int, f frame) {
	if to != n.id && !n.dead {
		f.update.At = n.c.now
		n.c.links[n.id][to].frames = append(n.c.links[n.id][to].frames, f)
	}
}

// cut breaks the connection of a link. Updates in flight behind a random frame are lost. All other
// frames are delivered over the next connection.
func (n *node) cut(w *wire) {
	if w.closed {
		return
	}
	n.c.cuts--
	k := n.c.rng.IntN(len(w.frames) + 1)
	for i := k; i < len(w.frames); i++ {
		f := &w.frames[i]
		if f.lost = f.lost || f.words != nil; f.lost {
			n.c.lost++
		}
	}
	if k == 0 && w.inside > 0 {
		n.torn(&w.frames[0], w)
	}
}

func (n *node) torn(f *frame, w *wire) {
	if w.place == Into {
		if !n.c.unsafely {
			copy(slot(n.mem, f.update.Task), n.snapshot[f.update.Task])
		}
		n.m.Torn(f.update)
	}
	w.inside = 0
}

// deliver delivers the next word or frame of a link.
func (n *node) deliver(from int, w *wire) {
	f := &w.frames[0]
	f.update.Came = n.c.now
	pop := func() { w.frames, w.inside = w.frames[1:], 0 }
	var err error
	switch {
	case f.lost:
		if !n.c.uninformed {
			err = n.m.Lost(f.update)
		}
		pop()
	case f.claim:
		err = n.m.Claimed(f.update, n.c.now)
		pop()
	case f.in:
		err = n.m.Entered(f.update)
		pop()
	case f.bye:
		err = n.m.Finished(from, f.update.Section)
		pop()
	case w.inside == 0:
		w.place, err = n.m.Announce(f.update, n.c.inPlace)
		switch {
		case w.place == Discard:
			n.m.Refused(f.update)
		case w.place == Into && !n.c.unsafely:
			n.snapshot[f.update.Task] = slices.Clone(slot(n.mem, f.update.Task))
		}
		n.receive(f, w)
	case f.torn > 0 && w.inside == f.torn:
		n.torn(f, w)
		pop()
	case w.inside < words:
		n.receive(f, w)
	default:
		if w.place != Discard {
			var acts []Action
			acts, err = n.m.Arrive(f.update, f.words, w.place == Into)
			n.perform(acts, f.update.Section)
		}
		pop()
	}
	if err != nil {
		n.err = err
	}
}

func (n *node) receive(f *frame, w *wire) {
	if w.place == Into {
		slot(n.mem, f.update.Task)[w.inside] = f.words[w.inside]
	}
	w.inside++
}
