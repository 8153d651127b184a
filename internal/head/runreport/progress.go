package runreport

import (
	"fmt"
	"strings"
	"time"
)

// Progress counts the completed work of a job.
type Progress struct {
	Sections, Points int64 // counts of the process with the most progress
	Done, Total      int64 // steps that the program reports, in the rank with the least progress; Total 0: the program has reported no total
}

// Line describes the progress of the job, its speed, and the number of live processes in one
// line.
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

// saved describes the share of time that sharing has saved. It returns "" if that is below 1
// %.
func saved(share float64) string {
	switch percent := int(100 * share); {
	case percent > 0:
		return fmt.Sprintf("sharing saves %d %% of the time", percent)
	case percent < 0:
		return fmt.Sprintf("sharing costs %d %% of the time", -percent)
	}
	return ""
}

// perSecond formats a rate with a few significant digits.
func perSecond(rate float64) string {
	if rate >= 10 || rate == 0 {
		return fmt.Sprintf("%.0f", rate)
	}
	return fmt.Sprintf("%.2g", rate)
}

// brieflyFor formats a time without digits that change too fast to be read.
func brieflyFor(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	}
	return d.Truncate(time.Second).String()
}
