package job

import "fmt"

// Diverge is the reaction to replicas of a rank whose states differ.
type Diverge string

// The ways.
const (
	DivergeOff    Diverge = "off"    // they are not compared
	DivergeStrict Diverge = "strict" // the job ends with exit code 4
	DivergeWarn   Diverge = "warn"   // the user is warned once, and the job goes on
)

// ParseDiverge reads one of them.
func ParseDiverge(s string) (Diverge, error) {
	switch d := Diverge(s); d {
	case DivergeOff, DivergeStrict, DivergeWarn:
		return d, nil
	}
	return "", fmt.Errorf("want strict, warn or off")
}

// DivergeCauses are what makes replicas differ, for messages.
const DivergeCauses = "a wrong clause, or time, random numbers, map order"

// DivergeAdvice is what a message about a difference ends with.
func DivergeAdvice(checked bool) string {
	if checked {
		return DivergeCauses
	}
	return DivergeCauses + ": run with -check"
}

// Watched holds the counts of a process about the comparisons of -diverge.
type Watched struct {
	Hashes   int64   `json:"hashes"`             // taken here
	Compared int64   `json:"compared"`           // comparisons with the hashes of a higher replica
	Seconds  float64 `json:"seconds"`            // time spent on all Hashes
	Known    string  `json:"known,omitempty"`    // a difference of hashes that this process knows of
	Differed string  `json:"differed,omitempty"` // what differed, as this process has described it
	// Last are the newest hashes of a process that has finished, one of each level.
	Last []Hashed `json:"last,omitempty"`
}

// Hashed is a hash that was taken.
type Hashed struct {
	SafePoint bool   `json:"safe_point,omitempty"` // at a safe point, not at the entry of a section
	End       bool   `json:"end,omitempty"`        // when the program had returned
	Number    uint64 `json:"number"`
	Hash      uint64 `json:"hash"`
}

// differs returns a message about another replica's different hash at the same place.
func (h Hashed) differs(other Hashed) string {
	where := fmt.Sprintf("what the tasks of section %d read", h.Number-1)
	switch {
	case h.End:
		where = "the registered state when the program returned"
	case h.SafePoint:
		where = fmt.Sprintf("the registered state at safe point %d", h.Number)
	}
	return fmt.Sprintf("%s had other contents; only the hash is known (%x on the first, %x on the second): %s", where, h.Hash, other.Hash, DivergeAdvice(false))
}

// differs describes the first place at which both have hashed, and not the same; "" if there is none.
func (w *Watched) differs(o *Watched) string {
	if w == nil || o == nil {
		return ""
	}
	for _, a := range w.Last {
		for _, b := range o.Last {
			if a.SafePoint == b.SafePoint && a.Number == b.Number && a.Hash != b.Hash {
				return a.differs(b)
			}
		}
	}
	return ""
}
