package detect

import (
	"math"
	"time"
)

// ID identifies a host. More precisely, it identifies the process on the host that sends
// its beats.
type ID uint32

// Config sets how long an observer waits for a host.
type Config struct {
	// Interval is the time between two beats to a host.
	Interval time.Duration
	// Floor is the least limit of silence.
	Floor time.Duration
	// Spread is the ratio of the limit to the longest recent silence.
	Spread float64
	// HalfLife is the time in which the remembered silence halves.
	HalfLife time.Duration
	// Ceiling is the greatest limit of silence.
	Ceiling time.Duration
}

// DefaultConfig detects a lost host within a second on responsive machines, and
// tolerates slow ones.
var DefaultConfig = Config{
	Interval: 50 * time.Millisecond,
	Floor:    650 * time.Millisecond,
	Spread:   2.5,
	HalfLife: 2 * time.Minute,
	Ceiling:  5 * time.Second,
}

// attention bounds, in intervals, how much of the time between two calls of Wake counts as
// running.
const attention = 3

// Observer holds the observations of one host about the hosts that it watches. Its methods
// are not safe for concurrent use. All times are from one monotonic clock of the host.
type Observer struct {
	config Config
	woke   time.Duration // time of the last call of Wake
	awake  time.Duration // time for which the observer was running up to then
	late   time.Duration // time for which it was not running
	hosts  map[ID]*monitor
}

// monitor is the state of one watched host.
type monitor struct {
	met      bool          // at least one round trip was completed
	lastSeen time.Duration // time of the last round trip
	awake    time.Duration // the observer's running time at lastSeen
	peak     time.Duration // longest silence after which the host has answered; fades with time
	since    time.Duration // when peak was set
}

// NewObserver returns an observer that watches no host yet.
func NewObserver(c Config, now time.Duration) *Observer {
	return &Observer{config: c, woke: now, hosts: make(map[ID]*monitor)}
}

// Watch begins to watch a host. The first silence counts from now, as if a round trip had
// just ended.
func (o *Observer) Watch(h ID, now time.Duration) {
	if o.hosts[h] == nil {
		o.Wake(now)
		o.hosts[h] = &monitor{lastSeen: now, awake: o.awake, since: now}
	}
}

// Forget ends the watch of a host.
func (o *Observer) Forget(h ID) { delete(o.hosts, h) }

// Wake is called whenever the observer runs, if possible at least once per Interval. The
// caller has processed all messages that have arrived.
func (o *Observer) Wake(now time.Duration) {
	passed := max(now-o.woke, 0)
	counts := min(passed, attention*o.config.Interval)
	o.awake += counts
	o.late += passed - counts
	o.woke = now
}

// Late returns the total time for which the observer was not running.
func (o *Observer) Late() time.Duration { return o.late }

// Contact records a completed round trip with h.
func (o *Observer) Contact(h ID, now time.Duration) {
	m := o.hosts[h]
	if m == nil {
		return
	}
	o.Wake(now)
	// The time until the first contact does not predict later silences.
	if silence := now - m.lastSeen; m.met && silence > m.remembered(&o.config, now) {
		m.peak, m.since = silence, now
	}
	m.met, m.lastSeen, m.awake = true, now, o.awake
}

// remembered returns the longest recent silence, which fades with time.
func (m *monitor) remembered(c *Config, now time.Duration) time.Duration {
	return time.Duration(float64(m.peak) * math.Exp2(-float64(now-m.since)/float64(c.HalfLife)))
}

// Sighting is the report of an observer about one host.
type Sighting struct {
	Host ID `json:"host"`
	// Age is the time since the last round trip.
	Age time.Duration `json:"age"`
	// Silence is the part of Age in which the observer was running.
	Silence time.Duration `json:"silence"`
	// Limit is the least silence that makes the host suspect.
	Limit time.Duration `json:"limit"`
}

// Suspect reports whether the observer considers the host lost.
func (s Sighting) Suspect() bool { return s.Silence >= s.Limit }

// Level measures the suspicion: 0 just after a contact, 1 when the host is
// suspect.
func (s Sighting) Level() float64 { return float64(s.Silence) / float64(s.Limit) }

// Sighting returns the present report of the observer about h. ok is false if h is not
// watched.
func (o *Observer) Sighting(h ID, now time.Duration) (s Sighting, ok bool) {
	m := o.hosts[h]
	if m == nil {
		return Sighting{}, false
	}
	recent := float64(m.remembered(&o.config, now))
	limit := max(o.config.Floor, time.Duration(o.config.Spread*recent))
	return Sighting{
		Host:    h,
		Age:     now - m.lastSeen,
		Silence: o.awake - m.awake,
		Limit:   min(limit, o.config.Ceiling),
	}, true
}
