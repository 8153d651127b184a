package output

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxAhead is how much a replica may be ahead of the one that speaks
	// for its rank, in bytes of one stream, before it has to wait.
	maxAhead = 16 << 20
	// maxLine is how long a line may be to be kept together.
	maxLine = 8 << 20
	// holdErrors is how long standard error is held back, so that a crash
	// can be told from output.
	holdErrors = 30 * time.Millisecond
	// holdCrash is the same for lines that look like a crash.
	holdCrash = time.Second
)

// forwarder merges one stream of the replicas of one rank into one: whole
// lines by line number, from the lowest live replica, each line once.
type forwarder struct {
	rank    int
	kind    Stream
	console *Console

	difference atomic.Pointer[string] // between the lines of two replicas, the first one

	mu      sync.Mutex
	room    *sync.Cond
	sources []*lines
	emitted int // whole lines
	cut     int // bytes of line emitted that are out already, of a very long line
	timer   *time.Timer
	adrift  bool   // it is not known that more is out
	rewound uint32 // the last time that it went back, counted by the job
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

// write takes what a replica writes. It blocks while the replica is too far
// ahead of the one that speaks.
func (f *forwarder) write(replica int, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.sources[replica]
	f.take(l, b)
	for l.full() && !l.dead && !l.last && !l.frozen {
		f.room.Wait()
	}
}

// take adds what a replica has written. It is called with mu held.
func (f *forwarder) take(l *lines, b []byte) {
	if len(b) > 0 && !l.dead && !(l.frozen && l.full()) {
		l.add(b)
		if f.kind == Stderr {
			l.mark(time.Now())
		}
	}
	f.flush()
}

// release: the process is gone, what is left of its output is little.
func (f *forwarder) release(replica int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources[replica].last = true
	f.room.Broadcast()
}

// stand returns where a replica stands that writes nothing now: another one
// that takes this for its own continues as this one would.
func (f *forwarder) stand(replica int) *lines {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sources[replica].clone()
}

// resume has a replica continue from where another one stood.
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

// rewind has what comes after from be put out again, once in each generation: what is out
// of it may be wrong.
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
	}
}

// freeze: the replica is crashing. It dies once it has said why, so it never
// waits from here on.
func (f *forwarder) freeze(replica int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources[replica].frozen = true
	f.room.Broadcast()
}

// speaker is the lowest replica that is not dead, or nil.
func (f *forwarder) speaker() *lines {
	for _, l := range f.sources {
		if !l.dead {
			return l
		}
	}
	return nil
}

// flush emits what can be emitted now. It is called with mu held.
func (f *forwarder) flush() {
	l := f.speaker()
	if l == nil {
		return
	}
	if f.settle(l) {
		n := f.releasable(l, time.Now())
		whole := l.whole(n)
		f.put(l, whole, bytes.Count(l.buf[:whole], []byte{'\n'}))
		switch n -= whole; {
		case l.done && n == len(l.buf): // the last line has no end
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

// settle drops what has been emitted for the rank already, and reports whether
// what l holds continues there.
func (f *forwarder) settle(l *lines) bool {
	f.compare(l)
	l.skipTo(f.emitted)
	if l.first == f.emitted {
		l.trimTo(f.cut)
	}
	return l.first == f.emitted && l.off == f.cut
}

// put emits the first n bytes of l, which hold the given number of line ends,
// and forgets them.
func (f *forwarder) put(l *lines, n, ends int) {
	if n == 0 {
		return
	}
	f.console.emit(f.kind, l.buf[:n], f.cut > 0)
	f.remember(l, l.buf[:n])
	f.emitted += ends
	if ends > 0 {
		f.cut = 0
	}
	if l.buf[n-1] != '\n' {
		f.cut += n
	}
	l.drop(n, ends)
	l.off = f.cut
}

// releasable returns how many bytes of the speaker are known to be output, not
// the beginning of a crash: those that another replica wrote as well, and
// those that have been there for a while.
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
	n, next := l.ripe(now, holdErrors)
	late, nextLate := l.ripe(now, holdCrash)
	for at := max(late, confirmed); at < n; { // whole lines only, from here on
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

// died ends a replica's part: the next live one speaks from the first line
// that is not complete. It is called once its pipe has been read to the end.
// What it returns is not output of the rank: the text of the crash and, when
// the replica ended by itself and has a substitute, its last lines.
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

// finished: the replica has run to its end and been read to the end, a last
// line without an end included.
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

// written says how much is out.
func (f *forwarder) written(s Stream) Written {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Written{Stream: s, Lines: f.emitted, Cut: f.cut}
}

// begin begins where a replica is going to, or further if more is out.
func (f *forwarder) begin(replica int, from, out Written) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.sources[replica]
	l.first, l.off = from.Lines, from.Cut
	f.adrift = false
	f.skip(from)
	f.skip(out)
}

// skip notes that so much is out. It is called with mu held.
func (f *forwarder) skip(out Written) {
	if (Written{Lines: f.emitted, Cut: f.cut}).before(out) {
		f.emitted, f.cut = out.Lines, out.Cut
		f.startOver()
	}
}

// lose notes that it is not known how much is out.
func (f *forwarder) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.adrift = true
}

// abandon: nothing comes from the replica.
func (f *forwarder) abandon(replica int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources[replica].dead = true
}
