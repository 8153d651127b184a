package sdr

import "bytes"

// A program may have many threads, one for each communicator that it has made by Dup and
// not freed, and a message says of all of them what it depends on. Most are at rest: what
// one message says of the other threads the next one says again, byte for byte. So a
// process keeps what it has written last, and what has come from each process last, with
// what it knows of that: to go through it once is enough.

// longRest is how many bytes a list has to have for that.
const longRest = 128

// rest is what pasts from one process say of other threads than their own.
type rest struct {
	list []byte // not changed: pasts share it
	// In which age, counted from 1, this process had begun all that it says, and had
	// absorbed it, and what Core.changes was then.
	begunIn, absorbedIn, absorbedAt uint64
}

func (r *rest) begun(age uint64) bool    { return r != nil && r.begunIn == age+1 }
func (r *rest) absorbed(age uint64) bool { return r != nil && r.absorbedIn == age+1 }

func (r *rest) setBegun(age uint64) {
	if r != nil {
		r.begunIn = age + 1
	}
}

func (r *rest) setAbsorbed(age, changes uint64) {
	if r != nil && !r.absorbed(age) {
		r.absorbedIn, r.absorbedAt = age+1, changes
	}
}

// scanFrom is scan of a past that has come from process p.
func (c *Core) scanFrom(p int, of *past) bool {
	of.rest, of.made = nil, 0
	if len(of.list) < longRest {
		return c.scan(of)
	}
	r := pastReader{b: of.list, base: of.base, rank: -1}
	for _, more := r.next(); more; _, more = r.next() {
	}
	if len(r.b) < longRest {
		return c.scan(of)
	}
	pr, whole := &c.processes[p], of.list
	if last := pr.rest; last != nil && bytes.Equal(last.list, r.b) {
		of.list = whole[:len(whole)-len(r.b)]
		fine := c.scan(of)
		of.list, of.more, of.rest = whole, true, last
		return fine
	}
	if !c.scan(of) {
		return false
	}
	pr.rest = &rest{list: bytes.Clone(r.b)}
	of.rest = pr.rest
	return true
}

// others is what was written last of other threads than one.
type others struct {
	than *thread
	at   uint64 // changes of these threads
	list []byte
}

// changed notes that this process knows more of a thread.
func (c *Core) changed(l *thread) {
	l.changes++
	c.changes++
}

// restOf encodes what is known of other threads than one. It is valid until the next call.
func (c *Core) restOf(of *thread) []byte {
	o := &c.others
	if at := c.changes - of.changes; o.than != of || o.at != at || at == 0 {
		o.than, o.at, o.list = of, at, o.list[:0]
		for _, l := range c.threads {
			if l != of && (l.own != clock{} || l.known.base > 0 || len(l.known.above) > 0) {
				o.list = appendThread(o.list, l.id, l.known.base)
				o.list = appendKnown(o.list, l, l.known.base, c.mine(l, l.known.base))
			}
		}
	}
	return o.list
}

// implied reports whether a past that this process sends says all that another one says.
func (c *Core) implied(by, p *past) bool {
	if p.thread != by.thread || p.base > by.base || p.hasOwn() {
		return false
	}
	if len(p.list) == 0 {
		return true
	}
	// A past that was made after the rest had been absorbed has it.
	return p.list[0] == 0 && p.rest.absorbed(c.age) && by.made >= p.rest.absorbedAt && by.made > 0
}
