package runreport

import (
	"fmt"
	"strings"
	"time"
)

// Progress is how far a job is.
type Progress struct {
	Elapsed          time.Duration
	Alive, Processes int
	Deaths           int
	Sections, Points int64 // of the process that is furthest
	Done, Total      int64 // as the program says, in the rank that is least far; Total 0: it does not
	// Saved is the share of the time that processes would have needed alone which
	// sharing has saved them, as far as that can be estimated.
	Saved float64
}

// Line says in one line how far the job is, how fast it goes, and what has become of
// its processes.
func (p *Progress) Line(o Outlook) string {
	words := []string{brieflyFor(p.Elapsed)}
	if o.Total > 0 || o.Done > 0 {
		words = append(words, o.Steps())
	} else {
		if p.Points > 0 {
			words = append(words, perSecond(o.Points)+" safe points/s")
		}
		words = append(words, perSecond(o.Sections)+" sections/s")
	}
	words = append(words, fmt.Sprintf("%d/%d processes", p.Alive, p.Processes))
	if p.Deaths > 0 {
		words = append(words, fmt.Sprintf("%d lost", p.Deaths))
	}
	if share := saved(p.Saved); share != "" {
		words = append(words, share)
	}
	return strings.Join(words, "  ")
}

// saved says what sharing has brought, "" if that is nothing.
func saved(share float64) string {
	switch percent := int(100 * share); {
	case percent > 0:
		return fmt.Sprintf("sharing saves %d %% of the time", percent)
	case percent < 0:
		return fmt.Sprintf("sharing costs %d %% of the time", -percent)
	}
	return ""
}

// perSecond is a rate with as many digits as matter.
func perSecond(rate float64) string {
	if rate >= 10 || rate == 0 {
		return fmt.Sprintf("%.0f", rate)
	}
	return fmt.Sprintf("%.2g", rate)
}

// brieflyFor is a time without digits that nobody can read while they change.
func brieflyFor(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	}
	return d.Truncate(time.Second).String()
}
