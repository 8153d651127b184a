//go:build !linux

package counters

// Meter counts nothing on this system.
type Meter struct{ counters []Counter }

// Reader counts nothing on this system.
type Reader struct{}

// New returns a meter that reports every event as not counted, nil if there are no names.
func New(names []string, _, _ int) *Meter {
	if len(names) == 0 {
		return nil
	}
	m := new(Meter)
	for _, n := range names {
		m.counters = append(m.counters, Counter{Name: n, Why: "only counted on Linux"})
	}
	return m
}

// Counters reports for each event that it is not counted.
func (m *Meter) Counters() []Counter {
	if m == nil {
		return nil
	}
	return m.counters
}

// Reader returns nil.
func (m *Meter) Reader() *Reader { return nil }

// Close does nothing.
func (m *Meter) Close() {}

// Begin does nothing.
func (r *Reader) Begin() {}

// Abandon does nothing.
func (r *Reader) Abandon() {}

// End returns nil.
func (r *Reader) End() []Count { return nil }

// Used returns nil.
func Used() *Usage { return nil }
