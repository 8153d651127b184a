package launch

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/runreport"
)

// The notes in this file are what a successor of the head needs to know of
// checkpoint files: which the job began with, which cut all were to leave last,
// and what became of each set.

// maxNote bounds the value of one note, in bytes. It is text in what is kept.
const maxNote = 16 << 10

// keep has a note kept, and calls act then. It replaces the one before it with
// this key, which was in one piece.
func (h *head) keep(key string, value []byte, act func()) {
	if h.record == nil { // nobody will ever look for it
		h.decide(arbiter.Entry{}, act)
		return
	}
	n := 0
	for ; len(value) > maxNote; n++ {
		h.decide(arbiter.Entry{Kind: arbiter.Note, Key: pieceKey(key, n), Value: value[:maxNote]}, func() {})
		value = value[maxNote:]
	}
	value = append(binary.AppendUvarint(nil, uint64(n)), value...)
	h.decide(arbiter.Entry{Kind: arbiter.Note, Key: key, Value: value}, act)
}

// forget drops a note.
func (h *head) forget(key string) {
	h.decide(arbiter.Entry{Kind: arbiter.Note, Key: key}, func() {})
}

// pieceKey is the key of a piece of a note that is too long for one.
func pieceKey(key string, n int) string { return fmt.Sprintf("%s, piece %d", key, n) }

// recall reads a note into v. It reports whether there is one.
func recall(s *arbiter.State, key string, v any) (bool, error) {
	last := s.Notes[key]
	if len(last) == 0 {
		return false, nil
	}
	n, size := binary.Uvarint(last)
	var value []byte
	for i := range int(min(n, uint64(len(s.Notes)))) {
		value = append(value, s.Notes[pieceKey(key, i)]...)
	}
	if err := json.Unmarshal(append(value, last[max(size, 0):]...), v); err != nil {
		return true, fmt.Errorf("read the note %q of the lost head: %w", key, err)
	}
	return true, nil
}

// Keys: cutNote is that of the recovery.Past, filesNote that of the inheritance.
const (
	cutNote   = "cut"
	filesNote = "files"
	setPrefix = "set "

	// replacedNote says that processes are replaced.
	replacedNote = "replaced"
)

// inheritance is what the first head has found in the folders.
type inheritance struct {
	Write   *job.Files         `json:"write,omitempty"`
	First   uint64             `json:"first,omitempty"`
	Restart *runreport.Restart `json:"restart,omitempty"`
}

func (f *files) inherited() *inheritance {
	_, r := f.reports()
	return &inheritance{f.write, f.first, r}
}

func (i *inheritance) keep(h *head) { h.keep(filesNote, agentwire.Encode(i), func() {}) }

// setNote is what has become of a set, as far as it is known: all its files are
// written, or it is complete, or given up.
type setNote struct {
	Whole     []byte                  `json:"whole,omitempty"`
	Complete  *runreport.FileSet      `json:"complete,omitempty"`
	Abandoned *runreport.AbandonedSet `json:"abandoned,omitempty"`
}

// wholeSize is what there is for each rank in setNote.Whole: size and sum of
// its file.
const wholeSize = 16

func wholeSet(files []checkpoint.File) (b []byte) {
	for _, f := range files {
		b = binary.LittleEndian.AppendUint64(b, uint64(f.Bytes))
		b = binary.LittleEndian.AppendUint64(b, f.Sum)
	}
	return b
}

func (n *setNote) files() (all []checkpoint.File) {
	for b := range slices.Chunk(n.Whole, wholeSize) {
		if len(b) == wholeSize {
			all = append(all, checkpoint.File{Rank: len(all), Bytes: int64(binary.LittleEndian.Uint64(b)), Sum: binary.LittleEndian.Uint64(b[8:])})
		}
	}
	return all
}

// keptSets is of how many sets a successor of the head can tell.
const keptSets = 1000

// keepSet notes what has become of a set, and calls act then.
func (f *files) keepSet(set uint64, n *setNote, act func()) {
	key := fmt.Sprint(setPrefix, set)
	f.keep(key, agentwire.Encode(n), act)
	if f.record != nil && n.Whole == nil { // it takes one piece only
		for i := range len(agentwire.Encode(&setNote{Whole: make([]byte, wholeSize*len(f.config.Degrees))})) / maxNote {
			f.forget(pieceKey(key, i))
		}
		if set > keptSets {
			f.forget(fmt.Sprint(setPrefix, set-keptSets))
		}
	}
}

// inherit takes over what the heads before have noted. It returns what recovery
// goes on with.
func (h *head) inherit(s *arbiter.State) (past recovery.Past, err error) {
	if _, err := recall(s, cutNote, &past); err != nil {
		return past, err
	}
	if !past.Fits(h.config.Degrees) {
		return past, fmt.Errorf("read the note %q of the lost head: it belongs to another job", cutNote)
	}
	if h.files != nil {
		err = h.files.inherit(s, &past)
	}
	return past, err
}

// inherit takes over what the heads before have noted of files.
func (f *files) inherit(s *arbiter.State, past *recovery.Past) error {
	var i inheritance
	if _, err := recall(s, filesNote, &i); err != nil {
		return err
	}
	f.asked, f.known, f.write, f.first = true, true, i.Write, i.First
	if r := i.Restart; r != nil {
		f.restart = &job.Restart{Dir: r.Dir, Set: checkpoint.Set{Number: r.Set, Cut: r.Point}}
		f.refused = r.Refused
	}
	for key := range s.Notes {
		text, ok := strings.CutPrefix(key, setPrefix)
		if !ok || strings.Contains(text, ",") {
			continue
		}
		var n setNote
		if _, err := recall(s, key, &n); err != nil {
			return err
		}
		switch is := text == fmt.Sprint(past.Set); {
		case n.Complete != nil:
			f.sets = append(f.sets, *n.Complete)
			past.End(n.Complete.Set)
		case n.Abandoned != nil:
			f.given = append(f.given, *n.Abandoned)
			past.End(n.Abandoned.Set)
		case is && len(n.files()) == len(f.config.Degrees):
			past.Whole = n.files()
		}
	}
	slices.SortFunc(f.sets, func(a, b runreport.FileSet) int { return int(a.Set) - int(b.Set) })
	slices.SortFunc(f.given, func(a, b runreport.AbandonedSet) int { return int(a.Set) - int(b.Set) })
	return nil
}
