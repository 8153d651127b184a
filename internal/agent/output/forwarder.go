package output

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxAhead is how far a replica may be ahead of the speaker of its rank before it has to
	// wait, in bytes of one stream. The speaker is the replica whose lines are written.
	maxAhead = 16 << 20
	// maxLine is the length from which a line is written in pieces.
	maxLine = 8 << 20
	// holdErrors is how long standard error is held back, to distinguish a crash from other
	// output.
	holdErrors = 30 * time.Millisecond
	// holdCrash is how long a line is held back that looks like a crash.
	holdCrash = time.Second
)

// forwarder merges one stream of the replicas of one rank into one: whole
// lines by line number, from the lowest live replica, each line once.
type forwarder struct {
	rank    int
	kind    Stream
	console *Console

	difference atomic.Pointer[string] // the first difference found between the lines of two replicas

	mu      sync.Mutex
	room    *sync.Cond
	sources []*lines
	emitted int // number of whole lines written
	cut     int // number of bytes already written of the line after those; above 0 only for a very long line
	timer   *time.Timer
	adrift  bool   // emitted and cut are unknown: the earlier head may have written more
	stopped bool   // nothing more is written: another head continues the stream
	rewound uint32 // generation of the last rewind
	printed printed
}

func newForwarder(rank int, kind Stream, c *Console, degree int) *forwarder {
	f := &forwarder{rank: rank, kind: kind, console: c, sources: make([]*lines, degree)}
	for i := range f.sources {
		f.sources[i] = new(lines)
	}
	f.room = sync.NewCond(&f.mu)
	return f
}

// write adds output of a replica. It blocks while the replica is too far ahead of the speaker.
func (f *forwarder) write(replica int, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.sources[replica]
	f.take(l, b)
	for l.full() && !l.dead && !l.last && !l.frozen && !f.stopped {
		f.room.Wait()
	}
}

// take adds output of a replica. The caller holds mu.
func (f *forwarder) take(l *lines, b []byte) {
	if len(b) > 0 && !l.dead && !f.stopped && !(l.frozen && l.full()) {
		l.add(b)
		if f.kind == Stderr {
			l.mark(time.Now())
		}
	}
	f.flush()
}

// release lets a replica write without waiting for room: its process has ended, so the rest of
// its output is short.
func (f *forwarder) release(replica int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources[replica].last = true
	f.room.Broadcast()
}

// stand returns the position and unsettled output of a replica that is not writing now. A
// replica that resumes from the result continues as this one would.
func (f *forwarder) stand(replica int) *lines {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sources[replica].clone()
}

// resume makes a replica continue from the position of another one.
func (f *forwarder) resume(replica int, from *lines) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := from.clone()
	if f.sources[replica] = l; f.kind == Stderr && len(l.buf) > 0 {
		l.mark(time.Now())
	}
	if f.adrift {
		f.adrift = false
		f.skip(Written{Lines: l.first, Cut: l.off})
	}
	f.flush()
}

// rewind makes the output after position from be written again, once in each generation, since
// that output may be wrong.
func (f *forwarder) rewind(generation uint32, from Written) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rewound >= generation {
		return
	}
	f.rewound, f.adrift = generation, false
	if from.before(Written{Lines: f.emitted, Cut: f.cut}) {
		f.emitted, f.cut = from.Lines, from.Cut
		f.startOver()
		f.stopped = f.stopped || !f.console.Emit(Piece{Stream: f.kind, Rank: f.rank, From: from}) // a later head must not skip that output
	}
}

// freeze marks a replica that is crashing. It dies once it has written its crash text, so from
// now on it must not wait.
func (f *forwarder) freeze(replica int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources[replica].frozen = true
	f.room.Broadcast()
}

// speaker returns the lowest replica that is not dead, or nil.
func (f *forwarder) speaker() *lines {
	for _, l := range f.sources {
		if !l.dead {
			return l
		}
	}
	return nil
}

// flush emits all lines that can be emitted now. The caller holds mu.
func (f *forwarder) flush() {
	l := f.speaker()
	if l == nil || f.stopped {
		return
	}
	if f.settle(l) {
		n := f.releasable(l, time.Now())
		whole := l.whole(n)
		f.put(l, whole, bytes.Count(l.buf[:whole], []byte{'\n'}))
		switch n -= whole; {
		case l.done && n == len(l.buf): // the last line is incomplete
			f.put(l, n, 0)
		case n > maxLine:
			f.put(l, n, 0)
		}
	}
	for _, other := range f.sources {
		f.settle(other)
	}
	f.forget()
	f.room.Broadcast()
}

// settle drops the part of l that has already been emitted for the rank. It reports whether the
// rest of l continues at the position that the rank has reached.
func (f *forwarder) settle(l *lines) bool {
	f.compare(l)
	l.skipTo(f.emitted)
	if l.first == f.emitted {
		l.trimTo(f.cut)
	}
	return l.first == f.emitted && l.off == f.cut
}

// put emits the first n bytes of l, which contain the given number of line ends,
// and drops them.
func (f *forwarder) put(l *lines, n, ends int) {
	if n == 0 || f.stopped {
		return
	}
	p := Piece{Stream: f.kind, Rank: f.rank, From: Written{Stream: f.kind, Lines: f.emitted, Cut: f.cut}, Continues: f.cut > 0, Text: l.buf[:n]}
	if f.stopped = !f.console.Emit(p); f.stopped {
		return
	}
	f.remember(l, l.buf[:n])
	end := p.End()
	f.emitted, f.cut = end.Lines, end.Cut
	l.drop(n, ends)
	l.off = f.cut
}

// releasable returns how many bytes of the speaker can be written, because they are certainly
// not the beginning of a crash text. These are the bytes that another replica has written as
// well, and the bytes that arrived long enough ago.
func (f *forwarder) releasable(l *lines, now time.Time) int {
	if f.kind != Stderr || l.done {
		return len(l.buf)
	}
	confirmed := 0
	for _, other := range f.sources {
		if other != l && !other.dead && !other.frozen && f.settle(other) {
			confirmed = max(confirmed, l.whole(common(l.buf, other.buf)))
		}
	}
	if l.frozen {
		return confirmed
	}
	n, next := l.due(now, holdErrors)
	late, nextLate := l.due(now, holdCrash)
	for at := max(late, confirmed); at < n; { // only whole lines from here on
		end := bytes.IndexByte(l.buf[at:n], '\n')
		if start := bytes.LastIndexByte(l.buf[:at], '\n') + 1; crashLike(l.buf[start:n]) {
			n, next = start, nextLate
			break
		}
		if end < 0 {
			break
		}
		at += end + 1
	}
	if !next.IsZero() {
		f.wake(next.Sub(now))
	}
	return max(n, confirmed)
}

func (f *forwarder) wake(after time.Duration) {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.timer = time.AfterFunc(after, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.flush()
	})
}

// died ends a replica's part: the next live replica speaks from the first incomplete line. The
// caller has read the dead replica's pipe to the end. The result is not output of the rank. It is
// the text of the crash and, if the replica ended by itself and another one takes over, its last
// lines.
func (f *forwarder) died(replica int, text []byte, itself bool) (words []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.sources[replica]
	speaks := l == f.speaker()
	l.dead = true
	substitute := f.speaker()
	var rest []byte
	if f.settle(l) {
		rest = l.buf
	}
	if f.kind == Stderr {
		rest, words = splitCrash(rest, text)
		words = bytes.Clone(words)
	}
	switch {
	case substitute == nil && speaks:
		f.put(l, len(rest), bytes.Count(rest, []byte{'\n'}))
	case f.kind == Stderr && itself && substitute != nil:
		known := 0
		if f.settle(substitute) {
			known = bytes.LastIndexByte(rest[:common(rest, substitute.buf)], '\n') + 1
		}
		words = append(bytes.Clone(rest[known:]), words...)
	}
	l.buf, l.marks = nil, nil
	f.flush()
	return words
}

// finished records that the replica has finished, and that its pipe is read to the end. A last
// line without a line end counts.
func (f *forwarder) finished(replica int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources[replica].done = true
	f.flush()
	f.compareEnds()
}

func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// stop makes the forwarder write nothing more, because another head continues the stream. It
// returns the position up to which this head has written.
func (f *forwarder) stop(s Stream) Written {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	f.room.Broadcast()
	return Written{Stream: s, Lines: f.emitted, Cut: f.cut}
}

// written returns the position of a stream: the number of lines emitted, and the number of bytes
// emitted of the next line.
func (f *forwarder) written(s Stream) Written {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Written{Stream: s, Lines: f.emitted, Cut: f.cut}
}

// renew makes another process write as the given replica.
func (f *forwarder) renew(replica int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources[replica] = new(lines)
}

// begin sets the position at which the output of a replica begins, and skips the part that has
// already been written.
func (f *forwarder) begin(replica int, from, out Written) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.sources[replica]
	l.first, l.off = from.Lines, from.Cut
	f.adrift = false
	f.skip(from)
	f.skip(out)
}

// skip records that output up to out has been written. The caller holds mu.
func (f *forwarder) skip(out Written) {
	if (Written{Lines: f.emitted, Cut: f.cut}).before(out) {
		f.emitted, f.cut = out.Lines, out.Cut
		f.startOver()
	}
}

// lose records that the position of the written output is unknown.
func (f *forwarder) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.adrift = true
}

// abandon marks a replica that will send no output.
func (f *forwarder) abandon(replica int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources[replica].dead = true
}
