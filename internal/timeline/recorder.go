package timeline

import (
	"runtime"
	"sync"

	"github.com/intrahpc/intra/internal/base/callsite"
)

// ringEvents is how many events a process keeps between two hand-overs: the
// newest. A block has at most blockEvents of them.
const (
	ringEvents  = 1 << 15
	blockEvents = 1 << 12
)

// Recorder keeps what a process does until it is handed over. Its methods may be
// called by any goroutine, with any lock held but that of the receiver of blocks.
type Recorder struct {
	clock, host string

	mu    sync.Mutex
	ring  []Event
	first int    // of the oldest event, once the ring is full
	lost  uint64 // since the last hand-over

	flushing sync.Mutex // guards what follows
	spare    []Event
	encoder  encoder

	sites callSites
}

// NewRecorder returns an empty one.
func NewRecorder() *Recorder { return &Recorder{clock: clockName(), host: hostName()} }

// Add records an event. It takes a short lock and copies the event.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	if len(r.ring) < ringEvents {
		r.ring = append(r.ring, e)
	} else {
		r.ring[r.first] = e
		r.first = (r.first + 1) % ringEvents
		r.lost++
	}
	r.mu.Unlock()
}

// Flush hands what was recorded to give, in blocks, the oldest first.
func (r *Recorder) Flush(give func(block []byte)) {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	r.mu.Lock()
	events, first, lost := r.ring, r.first, r.lost
	r.ring, r.first, r.lost = r.spare[:0], 0, 0
	r.mu.Unlock()
	r.spare = events
	for _, part := range [][]Event{events[first:], events[:first]} {
		for len(part) > 0 {
			n := min(len(part), blockEvents)
			give(r.encoder.encode(nil, &block{r.clock, r.host, Now(), lost, part[:n]}))
			part, lost = part[n:], 0
		}
	}
	clear(events) // what they name may be garbage
}

// callSites are the places from which a package was called, by the program
// counters of the callers: to look one up takes long.
type callSites struct {
	mu    sync.Mutex
	known map[callers]callSite
}

type (
	callers  [12]uintptr
	callSite struct{ function, place string }
)

// mostSites bounds what is remembered: a recursive program has callers without end.
const mostSites = 1 << 12

// CallInto returns the function of the package whose functions begin with prefix
// that the program has called, and the place of that call.
func (r *Recorder) CallInto(prefix string) (function, place string) {
	var pcs callers
	n := runtime.Callers(2, pcs[:])
	s := &r.sites
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.known[pcs]
	if !ok {
		if len(s.known) >= mostSites || s.known == nil {
			s.known = make(map[callers]callSite)
		}
		at.function, at.place = callsite.Find(pcs[:n], prefix)
		s.known[pcs] = at
	}
	return at.function, at.place
}

// Places are texts of call sites, which take long to make. A zero Places is empty;
// it is guarded by its owner.
type Places map[callsite.Site]string

// Of returns the text of s.
func (p *Places) Of(s *callsite.Site) string {
	text, ok := (*p)[*s]
	if !ok {
		if len(*p) >= mostSites || *p == nil {
			*p = make(Places)
		}
		text = s.String()
		(*p)[*s] = text
	}
	return text
}
