package arbiter

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/detect"
	"github.com/intrahpc/intra/internal/job"
)

// Kind says what an entry decides.
type Kind string

// The decisions.
const (
	Note     Kind = "note"     // Key, Value: of the launcher's own; without a value the key is forgotten
	Placed   Kind = "placed"   // Process, Incarnation, Node, PID: it has been started there
	Started  Kind = "started"  // all have joined
	Died     Kind = "died"     // Process, Incarnation, Cause, Text
	Lost     Kind = "lost"     // Node, Text, Testimonies: with all that runs there
	Finished Kind = "finished" // Process, Incarnation: run returned nil
	Decided  Kind = "decided"  // Code, Text: the end of the job
	Released Kind = "released" // all that live have finished and may go
	Added    Kind = "added"    // Node: it is a member from now on
	Removed  Kind = "removed"  // Node: it is one no more
)

// Entry is one decision. Which fields are set depends on Kind.
type Entry struct {
	Kind        Kind        `json:"kind"`
	Process     job.Process `json:"process,omitzero"`
	Incarnation uint32      `json:"incarnation,omitempty"`
	Node        ID          `json:"node,omitempty"`
	PID         int         `json:"pid,omitempty"`
	Cause       job.Cause   `json:"cause,omitempty"`
	Code        int         `json:"code,omitempty"`
	Key         string      `json:"key,omitempty"`
	Value       []byte      `json:"value,omitempty"`
	Text        string      `json:"text,omitempty"`

	Testimonies []detect.Testimony `json:"testimonies,omitempty"`
}

// MaxEntry bounds an encoded entry, in bytes. What is longer, like a big
// configuration, is proposed as several notes.
const MaxEntry = 32 << 10

// ErrEntry marks an entry that makes no sense or is too long.
var ErrEntry = errors.New("invalid decision")

func (e *Entry) check() error {
	ok := true
	switch e.Kind {
	case Note:
		ok = e.Key != ""
	case Placed:
		ok = e.Node != 0
	case Lost, Added, Removed:
		ok = e.Node != 0
	case Died:
		ok = e.Cause != ""
	case Started, Finished, Decided, Released:
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("%w: incomplete or unknown kind %q", ErrEntry, e.Kind)
	}
	return nil
}

func (e *Entry) encode() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode decision %q: %w", e.Kind, err)
	}
	if len(b) > MaxEntry {
		return nil, fmt.Errorf("%w: %q has %d bytes, at most %d are allowed", ErrEntry, e.Kind, len(b), MaxEntry)
	}
	return b, nil
}

func decodeEntry(b []byte) (e Entry, err error) {
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return e, e.check()
}
