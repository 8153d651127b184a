package decision

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Kind is the kind of a decision.
type Kind string

// The decisions.
const (
	// Placed: Process gets its slot in Incarnation on Node. The entry is decided before the
	// process is started, or before a spare learns of its slot. ID is the name under which the
	// process was started, by which its agent knows it. For a Spare, which has no slot yet,
	// Process is its ID. A process that Relieves takes over from the live process of the slot
	// at a cut, and has no slot before that.
	Placed Kind = "born"
	// Vacant: the slot of Process has no process at the start, since no host has room for it.
	Vacant     Kind = "vacant"
	Spawned    Kind = "spawned"     // Process, Incarnation, PID: its agent has started it
	Started    Kind = "started"     // all processes have joined
	Died       Kind = "died"        // Process, Incarnation, Cause, Text
	Withdrawn  Kind = "withdrawn"   // Process, Incarnation, Text: the process could not be started, or was dismissed
	Lost       Kind = "lost"        // Node, Text, Testimonies: the node is lost with all its processes
	Finished   Kind = "finished"    // Process, Incarnation, Generation: run returned nil
	Drained    Kind = "drained"     // Process, Incarnation, Generation: every message that the process sent has been received
	HostJoined Kind = "host joined" // Host: it has joined the running job, and processes may run there
	// Degrees: the ranks are to have this many replicas from now on, for the reason Text.
	Degrees  Kind = "degrees"
	Left     Kind = "left"     // Node, or Process and Incarnation; Text, Until: the host or process is to leave the job, for that reason, by that time
	Fired    Kind = "fired"    // Index, Process, Incarnation: a scheduled kill happens
	Injected Kind = "injected" // Process, Incarnation: victim of the next failure of the random schedule; Incarnation 0: no process lived

	Recovery Kind = "recovery" // Recovery; for a rollback also Ranks, the lost ranks, and Since, when the first of them was lost

	Opened       Kind = "opened"        // Opened: the contents of the folders
	SetWhole     Kind = "set whole"     // Set: every rank has its file
	SetDone      Kind = "set done"      // Done: the set is complete
	SetAbandoned Kind = "set abandoned" // Abandoned: the set will never be complete

	Decided  Kind = "decided"  // Code, Text: the end of the job
	Released Kind = "released" // all live processes have finished and may exit

	Added   Kind = "added"   // Node: a node that keeps the decisions from now on
	Removed Kind = "removed" // Node: a node that no longer keeps the decisions

	Resigned Kind = "resigned" // Node, Text: the head there hands over to another node, for that reason
	Ending   Kind = "ending"   // Text, Until: the job writes a last set of files and ends, for that reason, by that time

	Part Kind = "part" // Value: a piece of an entry that is too long for one record; see Split
)

// Entry is one decision. Kind determines which fields are set.
type Entry struct {
	Kind        Kind          `json:"kind"`
	At          time.Duration `json:"at,omitempty"` // time since all processes had joined, by the clock of the head
	Process     job.Process   `json:"process,omitzero"`
	Incarnation uint32        `json:"incarnation,omitempty"`
	Generation  uint32        `json:"generation,omitempty"`
	ID          job.Process   `json:"id,omitzero"`
	Spare       bool          `json:"spare,omitempty"`
	Relieves    bool          `json:"relieves,omitempty"`
	Until       time.Duration `json:"until,omitempty"`
	Node        detect.ID     `json:"node,omitempty"`
	PID         int           `json:"pid,omitempty"`
	Cause       job.Cause     `json:"cause,omitempty"`
	Code        int           `json:"code,omitempty"`
	Text        string        `json:"text,omitempty"`
	Index       int           `json:"index,omitempty"`

	Degrees     map[int]int             `json:"degrees,omitempty"` // by rank
	Host        *Host                   `json:"host,omitempty"`
	Testimonies []detect.Testimony      `json:"testimonies,omitempty"`
	Recovery    *recovery.Decision      `json:"recovery,omitempty"`
	Ranks       []int                   `json:"ranks,omitempty"`
	Since       time.Duration           `json:"since,omitempty"`
	Opened      *Folders                `json:"opened,omitempty"`
	Set         *Set                    `json:"set,omitempty"`
	Done        *runreport.FileSet      `json:"done,omitempty"`
	Abandoned   *runreport.AbandonedSet `json:"abandoned,omitempty"`

	Value []byte `json:"value,omitempty"`
	First bool   `json:"first,omitempty"` // this is the first piece of its entry
	Last  bool   `json:"last,omitempty"`
}

// MaxEntry bounds an encoded entry, in bytes.
const MaxEntry = 32 << 10

// maxPart bounds the Value of a piece, in bytes. Its encoding as text is longer.
const maxPart = 16 << 10

// maxText bounds the text of a decision, in bytes of its encoded form.
const maxText = 8 << 10

// ErrEntry marks an entry that is invalid or too long.
var ErrEntry = errors.New("invalid decision")

func (e *Entry) check() error {
	ok := true
	switch e.Kind {
	case Placed:
		ok = e.Node != 0 && e.Incarnation != 0
	case Lost, Added, Removed, Resigned:
		ok = e.Node != 0
	case Died:
		ok = e.Cause != "" && e.Incarnation != 0
	case HostJoined:
		ok = e.Host != nil && e.Host.Node != 0 && e.Host.Name != "" && e.Host.Slots > 0
	case Degrees:
		ok = len(e.Degrees) > 0
		for _, n := range e.Degrees {
			ok = ok && n > 0
		}
	case Left:
		ok = (e.Node != 0) != (e.Incarnation != 0)
	case Spawned, Withdrawn, Finished, Drained:
		ok = e.Incarnation != 0
	case Fired:
		ok = e.Index >= 0 && e.Incarnation != 0
	case Recovery:
		ok = e.Recovery != nil
	case Opened:
		ok = e.Opened != nil
	case SetWhole:
		ok = e.Set != nil
	case SetDone:
		ok = e.Done != nil
	case SetAbandoned:
		ok = e.Abandoned != nil
	case Part:
		ok = len(e.Value) > 0
	case Started, Vacant, Injected, Decided, Released, Ending:
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("%w: incomplete or unknown kind %q", ErrEntry, e.Kind)
	}
	return nil
}

// Encode returns the bytes of an entry for Decode. An entry that is longer than MaxEntry has
// to be Split first.
func (e *Entry) Encode() ([]byte, error) {
	b, err := e.encode()
	if err == nil && len(b) > MaxEntry {
		return nil, fmt.Errorf("%w: %q has %d bytes, at most %d are allowed", ErrEntry, e.Kind, len(b), MaxEntry)
	}
	return b, err
}

func (e *Entry) encode() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode decision %q: %w", e.Kind, err)
	}
	return b, nil
}

// Decode reads an entry.
func Decode(b []byte) (e Entry, err error) {
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return e, e.check()
}

// Split returns the entry alone or, if it is too long, its pieces. The pieces have to be
// decided in this order, without pieces of another entry between them. State.Join reassembles
// the entry.
func Split(e Entry) ([]Entry, error) {
	b, err := e.encode()
	if err != nil || len(b) <= MaxEntry {
		return []Entry{e}, err
	}
	var parts []Entry
	for first := true; len(b) > 0; first = false {
		n := min(len(b), maxPart)
		parts = append(parts, Entry{Kind: Part, At: e.At, Value: b[:n], First: first, Last: n == len(b)})
		b = b[n:]
	}
	return parts, nil
}

// Shorten cuts a text so that it fits into an entry. The encoding may turn one byte into six.
func Shorten(s string) string {
	end, size := 0, 0
	for end < len(s) {
		_, n := utf8.DecodeRuneInString(s[end:])
		b, err := json.Marshal(s[end : end+n])
		if err != nil {
			panic("decision: a text that cannot be encoded: " + err.Error()) // every text can be encoded
		}
		if size += len(b) - len(`""`); size > maxText {
			break
		}
		end += n
	}
	return s[:end]
}
