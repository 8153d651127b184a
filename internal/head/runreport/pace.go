package runreport

import (
	"fmt"
	"time"
)

// Outlook is how far a job is, how fast it goes, and when it will be done.
type Outlook struct {
	Done     int64   `json:"done,omitempty"`         // as the program says, in the rank that is least far
	Total    int64   `json:"total,omitempty"`        // 0: it has not said
	Left     float64 `json:"left_seconds,omitempty"` // 0: not known
	Points   float64 `json:"safe_points_per_second"`
	Sections float64 `json:"sections_per_second"`
}

// Steps says how much is done, and how long the rest will take.
func (o *Outlook) Steps() string {
	if o.Total == 0 {
		return fmt.Sprintf("%d steps", o.Done)
	}
	text := fmt.Sprintf("%d/%d (%d %%)", o.Done, o.Total, 100*o.Done/o.Total)
	if o.Left > 0 {
		text += "  " + brieflyFor(time.Duration(o.Left*float64(time.Second))) + " left"
	}
	return text
}

// Pace works out how fast a job goes from how far it was at times.
type Pace struct {
	last                    Progress
	steps, points, sections meter
}

// Add takes in how far the job is now.
func (p *Pace) Add(now Progress) {
	if now.Total != p.last.Total {
		p.steps = meter{} // another part of the program
	}
	if now.Done != p.last.Done || !p.steps.began { // steps may be long: their rate is that of whole ones
		p.steps.add(now.Elapsed, now.Done, stepsWindow, stepsLeast)
	}
	p.points.add(now.Elapsed, now.Points, window, 1)
	p.sections.add(now.Elapsed, now.Sections, window, 1)
	p.last = now
}

// Outlook says how far the job is, how fast it goes, and when it will be done.
func (p *Pace) Outlook() Outlook {
	o := Outlook{Done: p.last.Done, Total: p.last.Total, Points: p.points.rate(), Sections: p.sections.rate()}
	if rate, more := p.steps.rate(), float64(o.Total-o.Done); rate > 0 && more > 0 {
		since := (p.last.Elapsed - p.steps.last.at).Seconds() // the next step is under way
		o.Left = max(more/rate-since, (more-1)/rate)
	}
	return o
}

// A rate is an average over one to two windows: deaths and returns change it.
const (
	window                  = 3 * time.Second
	stepsWindow, stepsLeast = 30 * time.Second, 5
)

// meter is the rate of a count that grows.
type meter struct {
	began            bool
	older, mid, last mark // the rate is from older to last; mid will be older next
}

// mark is a count at a time.
type mark struct {
	at    time.Duration
	count int64
}

// add takes in a count. What was before is forgotten after such a time, if there
// were so many of what is counted in it.
func (m *meter) add(at time.Duration, count int64, window time.Duration, least int64) {
	now := mark{at, count}
	if !m.began || count < m.last.count { // the job went back, or the furthest has died
		*m = meter{true, now, now, now}
		return
	}
	m.last = now
	if at-m.mid.at >= window && count-m.mid.count >= least {
		m.older, m.mid = m.mid, now
	}
}

// rate returns how many there are in a second, 0 if that is not known.
func (m *meter) rate() float64 {
	took := m.last.at - m.older.at
	if took <= 0 {
		return 0
	}
	return float64(m.last.count-m.older.count) / took.Seconds()
}
