package detect

import (
	"math"
	"time"
)

// ID names a host, or more exactly the one process there that beats for it.
type ID uint32

// Config says how patient an observer is.
type Config struct {
	// Interval is the time between two beats to a host.
	Interval time.Duration
	// Floor is the silence that is never too much.
	Floor time.Duration
	// Spread: this many times the longest silence of late is not too much.
	Spread float64
	// HalfLife is the time in which the memory of a long silence halves.
	HalfLife time.Duration
	// Ceiling is the silence that is always too much.
	Ceiling time.Duration
}

// DefaultConfig finds a lost host within a second on machines that keep time,
// and leaves a slow one in peace.
var DefaultConfig = Config{
	Interval: 50 * time.Millisecond,
	Floor:    650 * time.Millisecond,
	Spread:   2.5,
	HalfLife: 2 * time.Minute,
	Ceiling:  5 * time.Second,
}

// attention is how much of the time between two calls of Wake can count as
// awake, in intervals.
const attention = 3

// Observer is what one host knows first-hand of those that it watches. Its
// methods are not safe for concurrent use; times are of one clock of the host
// and never go back.
type Observer struct {
	config Config
	woke   time.Duration // when Wake was called last
	awake  time.Duration // time spent awake up to then
	late   time.Duration // time spent not awake
	hosts  map[ID]*monitor
}

// monitor is the memory of one watched host.
type monitor struct {
	met   bool          // it has been heard at all
	heard time.Duration // time of the last round trip
	awake time.Duration // the observer's time awake then
	peak  time.Duration // longest silence that it has lived through,
	since time.Duration // as of this time
}

// NewObserver returns an observer that watches nobody yet.
func NewObserver(c Config, now time.Duration) *Observer {
	return &Observer{config: c, woke: now, hosts: make(map[ID]*monitor)}
}

// Watch begins to watch a host as if it had been heard just now.
func (o *Observer) Watch(h ID, now time.Duration) {
	if o.hosts[h] == nil {
		o.Wake(now)
		o.hosts[h] = &monitor{heard: now, awake: o.awake, since: now}
	}
}

// Forget ends the watch of a host.
func (o *Observer) Forget(h ID) { delete(o.hosts, h) }

// Wake is called whenever the observer runs, at least once per Interval if it
// can, after it has read all that has arrived.
func (o *Observer) Wake(now time.Duration) {
	passed := max(now-o.woke, 0)
	counts := min(passed, attention*o.config.Interval)
	o.awake += counts
	o.late += passed - counts
	o.woke = now
}

// Late is how much time the observer has not been awake, in all.
func (o *Observer) Late() time.Duration { return o.late }

// Heard: a round trip with h has been completed, so both directions work.
func (o *Observer) Heard(h ID, now time.Duration) {
	m := o.hosts[h]
	if m == nil {
		return
	}
	o.Wake(now)
	// How long it took to appear says nothing of how it is when it is there.
	if silence := now - m.heard; m.met && silence > m.remembered(&o.config, now) {
		m.peak, m.since = silence, now
	}
	m.met, m.heard, m.awake = true, now, o.awake
}

// remembered is the longest silence of late, which fades.
func (m *monitor) remembered(c *Config, now time.Duration) time.Duration {
	return time.Duration(float64(m.peak) * math.Exp2(-float64(now-m.since)/float64(c.HalfLife)))
}

// Sighting is what an observer can say of one host.
type Sighting struct {
	Host ID `json:"host"`
	// Age is the time since the last round trip.
	Age time.Duration `json:"age"`
	// Silence is the part of Age in which the observer was awake.
	Silence time.Duration `json:"silence"`
	// Limit is how much silence is too much.
	Limit time.Duration `json:"limit"`
}

// Suspect: the observer thinks that the host is lost.
func (s Sighting) Suspect() bool { return s.Silence >= s.Limit }

// Level is how suspicious the silence is: 0 when the host has just been heard,
// 1 when it is suspect.
func (s Sighting) Level() float64 { return float64(s.Silence) / float64(s.Limit) }

// Sighting returns what the observer can say of h now. ok is false for a host
// that is not watched.
func (o *Observer) Sighting(h ID, now time.Duration) (s Sighting, ok bool) {
	m := o.hosts[h]
	if m == nil {
		return Sighting{}, false
	}
	recent := float64(m.remembered(&o.config, now))
	limit := max(o.config.Floor, time.Duration(o.config.Spread*recent))
	return Sighting{
		Host:    h,
		Age:     now - m.heard,
		Silence: o.awake - m.awake,
		Limit:   min(limit, o.config.Ceiling),
	}, true
}
