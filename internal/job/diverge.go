package job

import "fmt"

// Diverge is the reaction to replicas of a rank whose states differ.
type Diverge string

// The reactions.
const (
	DivergeOff    Diverge = "off"    // replicas are not compared
	DivergeStrict Diverge = "strict" // the job ends with exit code 4
	DivergeWarn   Diverge = "warn"   // the user is warned once, and the job goes on
)

// ParseDiverge parses a reaction.
func ParseDiverge(s string) (Diverge, error) {
	switch d := Diverge(s); d {
	case DivergeOff, DivergeStrict, DivergeWarn:
		return d, nil
	}
	return "", fmt.Errorf("want strict, warn or off")
}

// DivergeCauses lists the usual reasons why replicas differ, for messages.
const DivergeCauses = "a wrong clause, or time, random numbers, map order"

// DivergeAdvice returns the end of a message about a difference.
func DivergeAdvice(checked bool) string {
	if checked {
		return DivergeCauses
	}
	return DivergeCauses + ": run with -check"
}

// Watched holds the counts of a process about the comparisons of -diverge.
type Watched struct {
	Hashes   int64   `json:"hashes"`             // hashes that this process has computed
	Compared int64   `json:"compared"`           // comparisons with the hashes of a higher replica
	Seconds  float64 `json:"seconds"`            // time spent on all Hashes
	Known    string  `json:"known,omitempty"`    // a difference of hashes that this process knows about
	Differed string  `json:"differed,omitempty"` // the difference, as this process describes it
	// Last holds the newest hash of each kind, in a process that has finished.
	Last []Hashed `json:"last,omitempty"`
}

// Hashed is a hash of the state of a process at a place in the program.
type Hashed struct {
	SafePoint bool   `json:"safe_point,omitempty"` // taken at a safe point, not at the entry of a section
	End       bool   `json:"end,omitempty"`        // taken when the program had returned
	Number    uint64 `json:"number"`
	Hash      uint64 `json:"hash"`
}

// differs returns a message about a different hash of another replica at the same place.
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

// differs describes the first place where both processes have hashes and these differ. It
// returns "" if there is none.
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
