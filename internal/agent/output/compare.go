package output

import (
	"bytes"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/internal/job"
)

// The forwarder of standard output keeps a hash of each recent line that it has written, and the
// beginning of some. If a replica writes another line under the same number, its results differ
// from those of its peers. If a process writes another line after a rollback than before, it has
// taken another course. Both are differences.

const (
	maxCompared = 1 << 15 // number of lines kept; a replica further behind is no longer compared
	maxShown    = 1 << 10 // number of lines whose beginning is kept after all live replicas have written them
	shownLine   = 100     // number of bytes shown of a line that differs
)

// printed holds the last lines written.
type printed struct {
	first int // number of the first line kept
	bare  int // lines before this one are kept without their beginning
	lines []printedLine
}

type printedLine struct {
	known      bool   // the hash is known, since the line was written in one piece
	by         int    // the replica that wrote the line
	generation uint32 // generation of the process that wrote it
	hash       uint64
	start      string
}

// Difference describes the first difference between the standard outputs of two replicas: a
// line, or the number of lines. It returns "" if there is none.
func (r *Rank) Difference() string {
	if text := r.streams[Stdout].difference.Load(); text != nil {
		return *text
	}
	return ""
}

// compares reports whether lines are compared.
func (f *forwarder) compares() bool {
	return f.kind == Stdout && f.difference.Load() == nil
}

// remember records the lines of b for the comparison, while they are being written. The caller
// holds mu, and has not yet changed emitted and cut.
func (f *forwarder) remember(l *lines, b []byte) {
	if !f.compares() {
		return
	}
	whole := f.cut == 0
	for line := range bytes.Lines(b) {
		if line[len(line)-1] != '\n' {
			break
		}
		p := printedLine{known: whole, by: f.replica(l), generation: l.generation}
		if whole {
			p.hash, p.start = xxh3.Hash(line), shown(line)
		}
		f.printed.lines = append(f.printed.lines, p)
		whole = true
	}
}

// forget bounds the memory of printed.
func (f *forwarder) forget() {
	behind := f.emitted
	for _, l := range f.sources {
		if !l.dead {
			behind = min(behind, l.first)
		}
	}
	p := &f.printed
	if n := len(p.lines) - maxCompared; n > 0 {
		p.lines, p.first = p.lines[n:], p.first+n
	}
	for p.bare = max(p.bare, p.first); p.bare < behind-maxShown && p.bare < p.first+len(p.lines); p.bare++ {
		p.lines[p.bare-p.first].start = ""
	}
}

// startOver forgets all lines, since the position of the output has changed.
func (f *forwarder) startOver() { f.printed = printed{first: f.emitted, bare: f.emitted} }

// compare compares the lines of l that have already been written for the rank.
func (f *forwarder) compare(l *lines) {
	if l.first >= f.emitted || !f.compares() {
		return
	}
	at := 0
	for n := l.first; n < f.emitted; n++ {
		i := bytes.IndexByte(l.buf[at:], '\n')
		if i < 0 {
			return
		}
		line := l.buf[at : at+i+1]
		at += i + 1
		k := n - f.printed.first
		if k < 0 || k >= len(f.printed.lines) || n == l.first && l.off > 0 {
			continue
		}
		switch p := &f.printed.lines[k]; {
		case !p.known || p.hash == xxh3.Hash(line):
		case p.generation < l.generation:
			before := ""
			if p.start != "" {
				before = fmt.Sprintf(", before %q", p.start)
			}
			f.differs("rank %d rolled back and wrote another line %d of the standard output: %q%s", f.rank, n+1, shown(line), before)
			return
		default:
			f.differs("line %d of the standard output differs: %s wrote %q, %s wrote %q", n+1, f.name(p.by), p.start, f.name(f.replica(l)), shown(line))
			return
		}
	}
}

// compareEnds compares the number of lines of the replicas that have finished.
func (f *forwarder) compareEnds() {
	if !f.compares() {
		return
	}
	var first *lines
	for _, l := range f.sources {
		switch {
		case l.dead || !l.done:
		case first == nil:
			first = l
		case l.count() != first.count():
			f.differs("the standard outputs differ: %s wrote %d lines, %s %d", f.name(f.replica(first)), first.count(), f.name(f.replica(l)), l.count())
			return
		}
	}
}

// count returns the number of whole lines that the replica has written.
func (l *lines) count() int { return l.first + bytes.Count(l.buf, []byte{'\n'}) }

// differs records the first difference.
func (f *forwarder) differs(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	f.difference.CompareAndSwap(nil, &text)
	f.printed = printed{}
}

func (f *forwarder) replica(l *lines) int {
	for i, o := range f.sources {
		if o == l {
			return i
		}
	}
	return 0 // unreachable: l is one of the sources
}

// name returns the name of a process of the rank.
func (f *forwarder) name(replica int) string {
	return job.Process{Rank: f.rank, Replica: replica}.String()
}

// shown returns the part of a line that the text of a difference quotes.
func shown(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	if len(line) > shownLine {
		return string(line[:shownLine]) + "…"
	}
	return string(line)
}
