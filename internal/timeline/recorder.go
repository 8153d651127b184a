package timeline

import (
	"runtime"
	"sync"

	"github.com/intrahpc/intra/internal/base/callsite"
)

// ringEvents is the number of events that a process keeps between two calls of Flush: the
// newest ones. A block has at most blockEvents events.
const (
	ringEvents  = 1 << 15
	blockEvents = 1 << 12
)

// Recorder keeps the events of a process until Flush passes them on. Its methods are safe
// for concurrent use. The caller may hold any lock except one that the function given to
// Flush takes.
type Recorder struct {
	clock, host string

	mu    sync.Mutex
	ring  []Event
	first int    // index of the oldest event, once the ring is full
	lost  uint64 // number of events overwritten since the last Flush

	flushing sync.Mutex // guards spare and encoder
	spare    []Event
	encoder  encoder

	sites callSites
}

// NewRecorder returns an empty recorder.
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

// Flush encodes the recorded events in blocks and calls give with each block, oldest
// first.
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
	clear(events) // release the strings that they reference
}

// callSites caches the places from which a package was called, by the program
// counters of the callers, since looking one up is slow.
type callSites struct {
	mu    sync.Mutex
	known map[callers]callSite
}

type (
	callers  [12]uintptr
	callSite struct{ function, place string }
)

// mostSites bounds the cache, because a recursive program has any number of call stacks.
const mostSites = 1 << 12

// CallInto returns the function that the program has called in the package whose functions
// begin with prefix, and the source line of that call.
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

// Places caches the texts of call sites, which are slow to make. The zero Places is empty.
// Calls must not be concurrent.
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
