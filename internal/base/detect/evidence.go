package detect

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Testimony is a sighting together with its observer.
type Testimony struct {
	Observer ID `json:"observer"`
	Sighting
}

// Evidence is the basis of a verdict on a host. The first testimony is that of the judge.
type Evidence struct {
	Host        ID
	Testimonies []Testimony
}

// Judge decides whether a host is lost. own is the sighting of the judge. others are
// those of all other observers of the host with which the judge is in contact. missing is
// the number of these observers from which no recent message has arrived. The host is lost
// if missing is 0 and all observers suspect it.
func Judge(own Testimony, others []Testimony, missing int) (Evidence, bool) {
	e := Evidence{Host: own.Host, Testimonies: append([]Testimony{own}, others...)}
	lost := missing == 0
	for _, t := range e.Testimonies {
		lost = lost && t.Suspect()
	}
	return e, lost
}

// String names the observer with the last contact, and when that was.
func (e Evidence) String() string {
	if len(e.Testimonies) == 0 {
		return fmt.Sprintf("host %d", e.Host)
	}
	last := slices.MinFunc(e.Testimonies, func(a, b Testimony) int { return int(a.Age - b.Age) })
	var others []string
	for _, t := range e.Testimonies {
		others = append(others, fmt.Sprintf("%d: %v silent, limit %v", t.Observer, round(t.Age), round(t.Limit)))
	}
	return fmt.Sprintf("last heard %v ago by %d (%s)", round(last.Age), last.Observer, strings.Join(others, "; "))
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
