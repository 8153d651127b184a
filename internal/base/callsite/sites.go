package callsite

import (
	"runtime"
	"unsafe"
)

// Sites keeps each place from which a goroutine calls, so that finding a place again costs
// a few nanoseconds. The zero value is ready. Only one goroutine may use it at a time.
type Sites struct {
	recent [recentSites]struct {
		calls calls
		site  *Site
	}
	named [recentSites]struct {
		name *byte
		size int
		site *Site
	}
	all  map[calls]*Site
	byAt map[string]*Site
}

// recentSites is the number of places that can be found without a map.
const recentSites = 16

// calls are the return addresses that identify the place of a call: those of the function
// itself, and of all callers that Mark keeps.
type calls [depth + 1]uintptr

// Here returns the place of the call of the function that calls Here. With skip, it
// returns the place of the call of a caller that many levels up.
//
//go:noinline
func (s *Sites) Here(skip int) *Site {
	var c calls
	if framePointers {
		frames(&c)
	} else {
		runtime.Callers(skip+2, c[:])
	}
	e := &s.recent[(c[0]^c[1]>>4)/4%recentSites]
	if e.site != nil && e.calls == c {
		return e.site
	}
	site := s.all[c]
	if site == nil {
		if s.all == nil {
			s.all = make(map[calls]*Site)
		}
		site = new(Site)
		site.Mark(skip + 1)
		s.all[c] = site
	}
	e.calls, e.site = c, site
	return site
}

// At returns the site of a known place. It finds the site again by the address of the
// text.
func (s *Sites) At(pos string) *Site {
	name := unsafe.StringData(pos)
	e := &s.named[uintptr(unsafe.Pointer(name))/8%recentSites]
	if e.site != nil && e.name == name && e.size == len(pos) {
		return e.site
	}
	site := s.byAt[pos]
	if site == nil {
		if s.byAt == nil {
			s.byAt = make(map[string]*Site)
		}
		site = &Site{at: pos}
		s.byAt[pos] = site
	}
	e.name, e.size, e.site = name, len(pos), site
	return site
}
