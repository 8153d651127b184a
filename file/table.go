package file

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/internal/replica/outfile"
)

// table holds the output files of one run of a program. It is part of the state of the
// program, so MarshalBinary returns the same bytes on all replicas of a rank.
type table struct {
	run  *engine.Program
	me   uint64 // identifies this process among those that write the files
	open []*File
	// saved are the files that were open at the safe point at which the run began, except
	// those that the program has opened again.
	saved []entry
	ends  map[string]int64 // by path: sizes of the files that were appended to and closed; nil: none
	back  map[string]bool  // paths whose size in ends is from the safe point to which the job has rolled back
	kept  *kept            // of the safe point from which this process runs again, alone; nil: it does not
	stale []stale
	last  uint64 // the last consistent cut that a call has seen

	nonce    string   // distinguishes the temporary names of this job; "": no file was opened yet
	made     int      // created files so far
	claimant int64    // distinguishes jobs that append to one file; 0: no file was opened yet
	tokens   []string // files that show whether all hosts see the same folder
	again    bool     // the job has rolled back: an earlier execution may have left files
	expired  []string // files that the next call removes

	step func() // called where -kill may end the process; nil: it does not
}

// saved is the saved state of the table.
type saved struct {
	Open  []entry          `json:",omitempty"`
	Ends  map[string]int64 `json:",omitempty"`
	Stale []stale          `json:",omitempty"`
	Last  uint64           `json:",omitempty"`

	Nonce    string   `json:",omitempty"`
	Made     int      `json:",omitempty"`
	Claimant int64    `json:",omitempty"`
	Tokens   []string `json:",omitempty"`
	Again    bool     `json:",omitempty"`
}

// entry is the saved state of an open file.
type entry struct {
	Name    string
	Kind    kind
	Born    uint64
	Path    string
	Temp    string `json:",omitempty"`
	Owner   int64  `json:",omitempty"`
	Pos     int64  `json:",omitempty"`
	Version int    `json:",omitempty"`
	End     int64
	// Unsynced is the field of outfile.State.
	Unsynced int64  `json:",omitempty"`
	Failed   *fault `json:",omitempty"`
	Lost     *fault `json:",omitempty"`
}

// kept is what a later run of the program in this process needs of a table, beside its saved
// state.
type kept struct {
	me       uint64
	machines map[place]*outfile.Machine
}

// place identifies an open file of a rank.
type place struct {
	path string
	kind kind
}

// stale is a version of a file that only a rollback needs.
type stale struct {
	Path string
	Cut  uint64 // the last consistent cut before the program left the version
}

func init() {
	bridge.Files = func(run any) any { return newTable(run.(*engine.Program)) }
}

func newTable(run *engine.Program) *table {
	t := &table{run: run, me: rand.Uint64() | 1}
	if run != nil {
		t.step = run.FileSteps()
		if k, ok := run.KeptFiles().(*kept); ok {
			t.me, t.kept = k.me, k
		}
	}
	return t
}

// newNonce returns a text that distinguishes the temporary names of this rank and job from
// those of others. A rank that rolls back to a safe point before its first file gets the same
// text, and replaces the files that it has left.
func (t *table) newNonce() string {
	if t.run == nil || t.run.Job() == 0 { // a process by itself
		return fmt.Sprintf("%08x", rand.Uint32())
	}
	return fmt.Sprintf("%08x-%d", t.run.Job(), t.run.Self.Rank)
}

// rankBits is the number of bits of an owner of a file that hold the rank. The others hold the
// number of the job.
const rankBits = 20

// newClaimant returns a number that distinguishes the job from others that append to the same
// file. A job that continues from checkpoint files keeps it, because processes of the earlier
// job may not have ended yet.
func (t *table) newClaimant() int64 {
	if t.run == nil || t.run.Job() == 0 { // a process by itself
		return 1 + int64(rand.Uint32())
	}
	return 1 + int64(t.run.Job())
}

// tableOf returns the table of files of a process.
func tableOf(p *intra.Process) *table {
	run, _ := bridge.Run(p).(*engine.Program)
	if run == nil { // a nil *intra.Process has no state
		return newTable(nil)
	}
	return run.Files().(*table)
}

// mark is called between two steps that change files or report a change to other
// processes.
func (t *table) mark() {
	if t.step != nil {
		t.step()
	}
}

func (t *table) trial() bool { return t.run != nil && t.run.Trial() }
func (t *table) keeps() bool { return t.run != nil && t.run.Apart() }

// hashes reports whether replicas compare what they write, since one of them may run again.
func (t *table) hashes() bool { return t.run != nil && t.run.RunsAgain() }

// resuming reports whether the run has yet to reach the safe point at which it begins.
func (t *table) resuming() bool { return t.run != nil && t.run.Resuming() }

// cut returns the number of the last consistent cut of all processes.
func (t *table) cut() uint64 {
	if t.run == nil {
		return 0
	}
	return t.run.Cut()
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (t *table) MarshalBinary() ([]byte, error) {
	s := saved{Open: slices.Clone(t.saved), Ends: t.ends, Stale: t.stale, Last: t.last, Nonce: t.nonce, Made: t.made, Claimant: t.claimant, Tokens: t.tokens, Again: t.again}
	for _, f := range t.open {
		if f.kind != opened {
			s.Open = append(s.Open, f.entry())
		}
	}
	// A restored program may open its files in another order.
	slices.SortFunc(s.Open, func(a, b entry) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind)) })
	return json.Marshal(s)
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. A trial of checked mode has a
// table of its own, so it does not change the table of the run.
func (t *table) UnmarshalBinary(b []byte) error {
	if t.run != nil && !t.run.Resuming() {
		return nil
	}
	var s saved
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	t.saved, t.ends, t.stale, t.last = s.Open, s.Ends, s.Stale, s.Last
	t.nonce, t.made, t.claimant, t.tokens, t.again = s.Nonce, s.Made, s.Claimant, s.Tokens, s.Again
	return nil
}

// claim gives f the saved state that a file of its name had at the safe point at which the
// run began.
func (t *table) claim(f *File) error {
	i := slices.IndexFunc(t.saved, func(e entry) bool { return e.Name == f.name && e.Kind == f.kind })
	if i < 0 {
		return fmt.Errorf("file %s was not open at the safe point at which this process begins: open it only if !p.Restored()", f.name)
	}
	e := t.saved[i]
	t.saved = slices.Delete(t.saved, i, i+1)
	f.born, f.path, f.temp, f.owner, f.pos = e.Born, e.Path, e.Temp, e.Owner, e.Pos
	f.failed, f.lost = e.Failed.error(), e.Lost.error()
	if t.kept != nil {
		f.m = t.kept.machines[place{f.path, f.kind}]
	} else {
		f.m = outfile.NewAt(t.me, outfile.State{Version: e.Version, End: e.End, Unsynced: e.Unsynced}, t.cut())
	}
	return nil
}

// forget removes a closed file from the table.
func (t *table) forget(f *File) {
	t.open = slices.DeleteFunc(t.open, func(g *File) bool { return g == f })
	f.release()
	if f.kind == appended && f.m != nil {
		if t.ends == nil {
			t.ends = make(map[string]int64)
		}
		t.ends[f.path] = f.m.End()
		delete(t.back, f.path)
	}
}

// leave keeps a version for a rollback.
func (t *table) leave(path string) { t.stale = append(t.stale, stale{path, t.last}) }

// enter updates the table if there was a consistent cut since the last call. Versions that
// no rollback needs any more expire.
func (t *table) enter() {
	cut := t.cut()
	if cut == t.last {
		return
	}
	t.last = cut
	oldest := t.run.Oldest()
	for _, f := range t.open {
		if f.m != nil {
			f.m.Passed(cut)
		}
	}
	t.stale = slices.DeleteFunc(t.stale, func(s stale) bool {
		if oldest <= s.Cut {
			return false
		}
		t.expired = append(t.expired, s.Path)
		return true
	})
}

// Settle implements engine.Files.
func (t *table) Settle() error {
	for _, f := range t.open {
		if err := f.settle(); err != nil {
			return fmt.Errorf("make the output file durable for a safe point: %w", err)
		}
	}
	return nil
}

// Keep implements engine.Files.
func (t *table) Keep() any {
	k := &kept{me: t.me, machines: make(map[place]*outfile.Machine)}
	for _, f := range t.open {
		if f.kind != opened {
			k.machines[place{f.path, f.kind}] = f.m.Clone()
		}
	}
	return k
}

// Resume implements engine.Files.
func (t *table) Resume(back bool) error {
	if len(t.saved) > 0 {
		return fmt.Errorf("file %s was open at the safe point at which this process begins: open it before the first SafePoint of a restored process, too", t.saved[0].Name)
	}
	if !back && !t.trial() && t.keeps() {
		for _, token := range t.tokens {
			if err := t.sees(token); err != nil {
				return err // a joining process may fail alone
			}
		}
	}
	t.again = t.again || back
	if back {
		t.back = make(map[string]bool, len(t.ends))
		for name := range t.ends {
			t.back[name] = true
		}
	}
	for _, f := range slices.Clone(t.open) {
		if f.kind == opened || t.trial() {
			continue
		}
		if !back {
			continue
		}
		if err := f.resume(); err != nil {
			return fmt.Errorf("bring file %s back to safe point %d: %w", f.name, t.cut(), err)
		}
	}
	return nil
}

// Return implements engine.Files.
func (t *table) Return(err error) error {
	for _, f := range t.open {
		f.release()
		if err == nil && f.kind != opened {
			err = fmt.Errorf("the program returned before file %s, opened at %s, was closed: call Close", f.name, f.at)
		}
	}
	return err
}

// Release implements engine.Files.
func (t *table) Release() {
	for _, s := range t.stale {
		_ = os.Remove(s.Path)
	}
	for _, token := range t.tokens {
		_ = os.Remove(token)
	}
}

// sees returns an error if this process does not see the folder in which another process
// has made a token.
func (t *table) sees(token string) error {
	if _, err := appears(token); err != nil {
		host, _ := os.Hostname()
		return fmt.Errorf("folder %s is not the same on all hosts of the job: process %v on host %s: %w: put output files on a file system that the hosts share",
			filepath.Dir(token), t.run.Self, host, err)
	}
	return nil
}

// errClosed means that a file is closed.
var errClosed = fmt.Errorf("%w: close it once, and do not use it afterwards", os.ErrClosed)
