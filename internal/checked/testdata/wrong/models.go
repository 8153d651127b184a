package wrong

import (
	"io"
	"sync/atomic"
)

// The types of this file keep state between steps, each in a different way.
type stepper interface{ step() }

type atomicSteps struct{ n atomic.Int64 }

func (a *atomicSteps) step() { a.n.Add(1) }

type entries struct {
	all map[string]struct{ n, of int }
}

func (e *entries) step() {
	a := e.all["a"]
	a.n++
	e.all["a"] = a
}

type anything map[string]any

func (a anything) step() { a["steps"] = a["steps"].(int) + 1 }

type parts struct{ first, all []int }

func (p *parts) step() { p.all[len(p.all)-1]++ }

// byValue is passed by value, and refers to its steps.
type byValue struct{ n *int }

func (v byValue) step() { *v.n++ }

type wrapped struct{ inner stepper }

func (w wrapped) step() { w.inner.step() }

type several []stepper

func (s several) step() {
	for _, m := range s {
		m.step()
	}
}

type array [2]*int

func (a array) step() { *a[1]++ }

// chain counts in its last element.
type chain struct {
	next *chain
	n    int
}

func (c *chain) step() {
	for c.next != nil {
		c = c.next
	}
	c.n++
}

func newChain(length int) *chain {
	c := &chain{}
	for range length {
		c = &chain{next: c}
	}
	return c
}

// bytes keeps the bytes that are written to it.
type bytes struct{ all []byte }

func (b *bytes) WriteByte(c byte) error {
	b.all = append(b.all, c)
	return nil
}

// tell writes to w, which keeps the bytes.
//
//intra:task in(w) out(y)
func tell(w io.ByteWriter, y []float64) {
	if w.WriteByte(1) == nil {
		clear(y)
	}
}

// sparse has more work memory than checked mode follows, and keeps nothing.
type sparse struct{ rows [][]float64 }

func (s *sparse) step() { s.rows[0][0] = 1 }

func newSparse(rows, columns int) *sparse {
	s := &sparse{}
	for range rows {
		s.rows = append(s.rows, make([]float64, columns))
	}
	s.rows[0][0] = 1
	return s
}
