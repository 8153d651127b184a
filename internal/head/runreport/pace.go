package runreport

import (
	"fmt"
	"time"
)

// Outlook is the progress of a job, its speed, and the time left.
type Outlook struct {
	Done     int64   `json:"done,omitempty"`         // steps that the program reports, in the rank with the least progress
	Total    int64   `json:"total,omitempty"`        // 0: the program has reported no total
	Left     float64 `json:"left_seconds,omitempty"` // 0: unknown
	Points   float64 `json:"safe_points_per_second"`
	Sections float64 `json:"sections_per_second"`
}

// Steps describes how many steps are done, and how long the rest will take.
func (o *Outlook) Steps() string {
	if o.Total == 0 {
		return fmt.Sprintf("%d steps", o.Done)
	}
	text := fmt.Sprintf("%d/%d (%d %%)", o.Done, o.Total, 100*o.Done/o.Total)
	if o.Left > 0 {
		text += "  " + brieflyFor(secondsOf(o.Left)) + " left"
	}
	return text
}

// Pace computes the speed of a job from its progress at different times.
type Pace struct {
	at                      time.Duration
	last                    Progress
	steps, points, sections meter
}

// Add adds the progress of the job now.
func (p *Pace) Add(s *Status) {
	at, now := secondsOf(s.Elapsed), s.Progress
	if now.Total != p.last.Total {
		p.steps = meter{} // another total means that another part of the program has begun
	}
	if now.Done != p.last.Done || !p.steps.began { // steps may be long, so only their ends count
		p.steps.add(at, now.Done, stepsWindow, stepsLeast)
	}
	p.points.add(at, now.Points, window, 1)
	p.sections.add(at, now.Sections, window, 1)
	p.at, p.last = at, now
}

// Outlook returns the progress of the job, its speed, and the time left.
func (p *Pace) Outlook() Outlook {
	o := Outlook{Done: p.last.Done, Total: p.last.Total, Points: p.points.rate(), Sections: p.sections.rate()}
	if rate, more := p.steps.rate(), float64(o.Total-o.Done); rate > 0 && more > 0 {
		since := (p.at - p.steps.last.at).Seconds() // time spent on the present step
		o.Left = max(more/rate-since, (more-1)/rate)
	}
	return o
}

// A rate is an average over one to two windows only, since deaths and replacements change it.
const (
	window                  = 3 * time.Second
	stepsWindow, stepsLeast = 30 * time.Second, 5
)

// meter measures the rate of a growing count.
type meter struct {
	began            bool
	older, mid, last mark // the rate is measured from older to last; mid becomes older next
}

// mark is a count at a time.
type mark struct {
	at    time.Duration
	count int64
}

// add adds a count. A rate covers the last one to two windows; older counts are forgotten. A
// window lasts at least the given time, and contains at least the given number of counts.
func (m *meter) add(at time.Duration, count int64, window time.Duration, least int64) {
	now := mark{at, count}
	if !m.began || count < m.last.count { // the job rolled back, or the furthest process died
		*m = meter{true, now, now, now}
		return
	}
	m.last = now
	if at-m.mid.at >= window && count-m.mid.count >= least {
		m.older, m.mid = m.mid, now
	}
}

// rate returns the counts per second, 0 if unknown.
func (m *meter) rate() float64 {
	took := m.last.at - m.older.at
	if took <= 0 {
		return 0
	}
	return float64(m.last.count-m.older.count) / took.Seconds()
}
