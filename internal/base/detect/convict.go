package detect

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Testimony is a sighting with who made it.
type Testimony struct {
	Observer ID `json:"observer"`
	Sighting
}

// Evidence is what a verdict on a host rests on. The first testimony is the
// judge's own.
type Evidence struct {
	Host        ID
	Testimonies []Testimony
}

// Convict decides whether a host is lost. The judge brings its own sighting
// and those of every other observer that watches the host and that the judge
// is in contact with; unheard is the number of those from which it has no
// recent word. The host is lost when all of them suspect it.
func Convict(own Testimony, others []Testimony, unheard int) (Evidence, bool) {
	e := Evidence{Host: own.Host, Testimonies: append([]Testimony{own}, others...)}
	lost := unheard == 0
	for _, t := range e.Testimonies {
		lost = lost && t.Suspect()
	}
	return e, lost
}

// String says who heard the host last and when.
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
