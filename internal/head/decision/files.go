package decision

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// Folders describes the folders of checkpoint files that the job begins with and writes to.
type Folders struct {
	Write   *job.Files `json:"write,omitempty"` // nil: no files are written
	First   uint64     `json:"first,omitempty"` // number of the first set
	Restart *Restart   `json:"restart,omitempty"`
}

// Restart is the set that the program begins with.
type Restart struct {
	Dir     string         `json:"dir"`
	Format  int            `json:"format,omitempty"`
	Job     checkpoint.Job `json:"job"`
	Number  uint64         `json:"number"`
	Cut     uint64         `json:"cut"`
	Files   Files          `json:"files"`
	Rebuilt bool           `json:"rebuilt,omitempty"` // another build of the program wrote it
	Refused []string       `json:"refused,omitempty"` // why newer sets cannot be used
}

// NewRestart describes a set, and why newer sets were refused.
func NewRestart(r *job.Restart, refused []string) *Restart {
	s := &r.Set
	return &Restart{Dir: r.Dir, Format: s.Format, Job: s.Job, Number: s.Number, Cut: s.Cut, Files: s.Files, Refused: refused}
}

// Setup returns the description of the set for the processes.
func (r *Restart) Setup() *job.Restart {
	return &job.Restart{Dir: r.Dir, Set: checkpoint.Set{Format: r.Format, Job: r.Job, Number: r.Number, Cut: r.Cut, Files: r.Files}}
}

// Set is the state of a set of files. All its files are written, and it may then be complete (Done)
// or abandoned.
type Set struct {
	Number    uint64                  `json:"number"`
	Cut       uint64                  `json:"cut,omitempty"`
	Files     Files                   `json:"files,omitempty"` // until Done or Abandoned
	Done      *runreport.FileSet      `json:"done,omitempty"`
	Abandoned *runreport.AbandonedSet `json:"abandoned,omitempty"`
}

// keptSets is the number of the latest sets that a successor of the head knows.
const keptSets = 1000

// mark records the state of a set. A set that is complete or abandoned never changes again.
func (s *State) mark(set Set) {
	i, known := slices.BinarySearchFunc(s.Sets, set.Number, func(a Set, n uint64) int { return int(a.Number) - int(n) })
	switch {
	case !known:
		s.Sets = slices.Insert(s.Sets, i, set)
	case s.Sets[i].Done == nil && s.Sets[i].Abandoned == nil:
		s.Sets[i] = set
	}
	s.Sets = s.Sets[max(len(s.Sets)-keptSets, 0):]
}

// Files holds the files of a set, by rank. In an entry each file takes 16 bytes, since a job
// may have thousands of ranks.
type Files []checkpoint.File

// MarshalJSON encodes sizes and sums, in the order of the ranks.
func (f Files) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 16*len(f))
	for i, x := range f {
		if x.Rank != i {
			return nil, fmt.Errorf("file %d of a set is that of rank %d", i, x.Rank)
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(x.Bytes))
		b = binary.LittleEndian.AppendUint64(b, x.Sum)
	}
	return json.Marshal(b)
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (f *Files) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	if len(b)%16 != 0 {
		return fmt.Errorf("%d bytes describe no files", len(b))
	}
	*f = nil
	for i := range len(b) / 16 {
		*f = append(*f, checkpoint.File{Rank: i, Bytes: int64(binary.LittleEndian.Uint64(b[16*i:])), Sum: binary.LittleEndian.Uint64(b[16*i+8:])})
	}
	return nil
}
