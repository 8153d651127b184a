package recovery

import "time"

// desk holds what all parts of a Head share: the configuration, the time, the number of
// rollbacks, and the actions of the present event.
type desk struct {
	config     Config
	now        time.Duration
	generation uint32 // counts rollbacks
	over       bool   // the job has ended: no more actions are taken
	acts       []Action
}

func (k *desk) begin(now time.Duration) {
	k.acts = nil
	k.now = max(k.now, now)
}

// keep orders the driver to keep a decision. The actions after it wait until it is kept.
func (k *desk) keep(d Decision) {
	d.Generation = k.generation
	k.acts = append(k.acts, Action{Kind: Keep, Decision: &d})
}
