package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/internal/replica/verify"
	"github.com/intrahpc/intra/update"
)

// These are the kinds of messages of verify.Machine. update.Message.Task distinguishes
// them.
const (
	wordFirst = iota
	wordAgain
	wordResult
	wordState // a hash of verify.States; the field of the section holds the number of the safe point
)

// say sends a message to a peer, encoded as numbers of 8 bytes.
func (v *verifier) say(peer int, w *verify.Word) {
	m := update.Message{Kind: update.KindVerify, Section: w.Section, Signature: w.Signature, Deaths: w.Deaths, Task: wordFirst}
	numbers := w.First
	switch {
	case w.Result != nil:
		r := w.Result
		m.Task = wordResult
		numbers = append([]uint64{uint64(len(r.Right)), uint64(len(r.Differed))}, r.Right...)
		for _, i := range r.Differed {
			numbers = append(numbers, uint64(i))
		}
		for _, g := range r.Faulty {
			numbers = append(numbers, uint64(g.Replica), uint64(g.Index), uint64(g.Core))
		}
	case w.Again != nil:
		m.Task, numbers = wordAgain, nil
		for _, a := range w.Again {
			numbers = append(numbers, uint64(a.Index), a.Entry, a.First.Hash, uint64(a.First.Core), a.Second.Hash, uint64(a.Second.Core))
		}
	}
	b := make([]byte, 0, 8*len(numbers))
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	v.notify(peer, m, b)
}

var errWord = errors.New("malformed word about sampled tasks")

// handleMessage processes a message from a peer.
func (v *verifier) handleMessage(m update.Message, u section.Update, payload []byte) error {
	if m.Task == wordState && v.compares() && len(payload) == 8 {
		v.states.Receive(u.Peer, m.Section, binary.LittleEndian.Uint64(payload))
		return nil
	}
	w, err := parseWord(m, payload)
	if err == nil && v == nil {
		err = fmt.Errorf("%w: no task is verified here", errWord)
	}
	if err != nil {
		return err
	}
	v.perform(v.machine.Receive(u.Peer, w))
	return nil
}

func parseWord(m update.Message, payload []byte) (*verify.Word, error) {
	w := &verify.Word{Section: m.Section, Signature: m.Signature, Deaths: m.Deaths}
	var n []uint64
	for b := payload; len(b) >= 8; b = b[8:] {
		n = append(n, binary.LittleEndian.Uint64(b))
	}
	ok := len(payload)%8 == 0
	switch m.Task {
	case wordFirst:
		w.First = n
		ok = ok && len(n) > 0
	case wordAgain:
		ok = ok && len(n) > 0 && len(n)%6 == 0
		for ; len(n) >= 6; n = n[6:] {
			w.Again = append(w.Again, verify.Again{Index: int(n[0]), Entry: n[1],
				First: verify.Run{Hash: n[2], Core: int(n[3])}, Second: verify.Run{Hash: n[4], Core: int(n[5])}})
		}
	case wordResult:
		if ok = ok && len(n) > 2 && n[0] > 0 && n[1] <= n[0] && n[0] <= uint64(len(n)) && n[0]+n[1] <= uint64(len(n)-2) && (uint64(len(n)-2)-n[0]-n[1])%3 == 0; !ok {
			break
		}
		r := &verify.Result{Right: n[2 : 2+n[0]]}
		for _, i := range n[2+n[0] : 2+n[0]+n[1]] {
			ok = ok && i < n[0]
			r.Differed = append(r.Differed, int(i))
		}
		for g := n[2+n[0]+n[1]:]; len(g) > 0; g = g[3:] {
			ok = ok && g[1] < n[0]
			r.Faulty = append(r.Faulty, verify.Faulty{Replica: int(g[0]), Index: int(g[1]), Core: int(g[2])})
		}
		w.Result = r
	default:
		ok = false
	}
	if !ok {
		return nil, fmt.Errorf("%w: kind %d with %d bytes", errWord, m.Task, len(payload))
	}
	return w, nil
}
