package output

import (
	"bytes"
	"slices"
	"time"
)

// lines holds the part of a replica's output to one stream that is not settled yet. Output is
// settled when it has been emitted for the rank, or when it was dropped because a peer's copy
// was emitted.
type lines struct {
	buf        []byte // starts with line number first
	first      int
	off        int // bytes of line number first that are settled: a very long line is settled in parts
	marks      []mark
	done       bool   // its process has finished: no more output arrives
	last       bool   // its process has ended: the pipe holds the rest
	dead       bool   // the replica is dead: another one speaks for the rank
	frozen     bool   // the replica is crashing: its writes are no longer output, and only a bounded part is kept
	generation uint32 // rollbacks of the job when its process began or resumed
}

// mark records when the bytes up to end arrived.
type mark struct {
	end int
	at  time.Time
}

// clone returns a copy, for a process that continues at this position.
func (l *lines) clone() *lines {
	return &lines{buf: slices.Clone(l.buf), first: l.first, off: l.off, marks: slices.Clone(l.marks), generation: l.generation}
}

// full reports whether the replica is too far ahead.
func (l *lines) full() bool { return len(l.buf) > maxAhead }

func (l *lines) add(b []byte) { l.buf = append(l.buf, b...) }

// mark records when the last bytes arrived. Bytes within a few milliseconds share
// a mark.
func (l *lines) mark(now time.Time) {
	if n := len(l.marks); n > 0 && now.Sub(l.marks[n-1].at) < holdErrors/8 {
		l.marks[n-1].end = len(l.buf)
		return
	}
	l.marks = append(l.marks, mark{len(l.buf), now})
}

// drop removes the first n bytes, which contain the given number of line ends.
func (l *lines) drop(n, ends int) {
	if l.first += ends; ends > 0 {
		l.off = 0
	}
	if n == len(l.buf) {
		l.buf = l.buf[:0]
	} else {
		l.buf = l.buf[n:] // a later append copies the rest and frees the front
	}
	keep := l.marks[:0]
	for _, m := range l.marks {
		if m.end > n {
			keep = append(keep, mark{m.end - n, m.at})
		}
	}
	l.marks = keep
}

// skipTo drops whole lines up to line n.
func (l *lines) skipTo(n int) {
	at, ends := 0, 0
	for l.first+ends < n {
		i := bytes.IndexByte(l.buf[at:], '\n')
		if i < 0 {
			break
		}
		at, ends = at+i+1, ends+1
	}
	if at > 0 {
		l.drop(at, ends)
	}
}

// trimTo drops the first bytes of line first, up to byte cut.
func (l *lines) trimTo(cut int) {
	if l.off >= cut {
		return
	}
	n := min(cut-l.off, len(l.buf))
	if i := bytes.IndexByte(l.buf[:n], '\n'); i >= 0 { // this line is shorter than the peer's line
		l.drop(i, 0)
		l.off = cut
		return
	}
	l.drop(n, 0)
	l.off += n
}

// whole returns the length of the whole lines within the first n bytes.
func (l *lines) whole(n int) int { return bytes.LastIndexByte(l.buf[:n], '\n') + 1 }

// due returns the number of bytes that arrived at least hold ago. next is the time when more
// bytes are that old.
func (l *lines) due(now time.Time, hold time.Duration) (n int, next time.Time) {
	for _, m := range l.marks {
		if t := m.at.Add(hold); t.After(now) {
			return n, t
		}
		n = m.end
	}
	return n, time.Time{}
}
