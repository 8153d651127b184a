package runreport

import (
	"fmt"
	"strings"
	"time"
)

// Progress counts what a job has completed.
type Progress struct {
	Sections, Points int64 // of the most advanced process
	Done, Total      int64 // steps that the program reports, in the least advanced rank; Total 0: the program has reported no total
}

// Line returns in one line the progress of the job, its speed, and how many processes live.
func (s *Status) Line() string {
	o, words := &s.Outlook, []string{brieflyFor(secondsOf(s.Elapsed))}
	if o.Total > 0 || o.Done > 0 {
		words = append(words, o.Steps())
	} else {
		if s.Progress.Points > 0 {
			words = append(words, perSecond(o.Points)+" safe points/s")
		}
		words = append(words, perSecond(o.Sections)+" sections/s")
	}
	words = append(words, fmt.Sprintf("%d/%d processes", s.Alive, s.places()))
	if s.Deaths > 0 {
		words = append(words, fmt.Sprintf("%d lost", s.Deaths))
	}
	if share := saved(s.Saved); share != "" {
		words = append(words, share)
	}
	return strings.Join(words, "  ")
}

// saved returns in words the share of time that sharing has saved, "" if it is below 1 %.
func saved(share float64) string {
	switch percent := int(100 * share); {
	case percent > 0:
		return fmt.Sprintf("sharing saves %d %% of the time", percent)
	case percent < 0:
		return fmt.Sprintf("sharing costs %d %% of the time", -percent)
	}
	return ""
}

// perSecond returns a rate with only the digits that matter.
func perSecond(rate float64) string {
	if rate >= 10 || rate == 0 {
		return fmt.Sprintf("%.0f", rate)
	}
	return fmt.Sprintf("%.2g", rate)
}

// brieflyFor returns a time without the digits that change too fast to be read.
func brieflyFor(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	}
	return d.Truncate(time.Second).String()
}
