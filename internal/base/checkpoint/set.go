package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// Set is a complete set: the state of every rank at one consistent cut.
type Set struct {
	Format int    `json:"format"`
	Job    Job    `json:"job"`
	Number uint64 `json:"set"`
	Cut    uint64 `json:"cut"`
	Files  []File `json:"files"` // by rank
}

const (
	setPrefix = "set-"
	indexName = "index" // name of the index of a set; the index is written last and makes the set complete
)

// KeptSets is the number of complete sets that a folder keeps.
const KeptSets = 2

func setName(number uint64) string { return fmt.Sprintf("%s%06d", setPrefix, number) }
func fileName(rank int) string     { return fmt.Sprintf("rank-%d", rank) }

func (s *Set) path(dir string, rank int) string {
	return filepath.Join(dir, setName(s.Number), fileName(rank))
}

// sets returns the numbers of all sets in dir, newest first, complete or not. It includes
// any other files with the name of a set.
func sets(dir string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var numbers []uint64
	for _, e := range entries {
		if text, ok := strings.CutPrefix(e.Name(), setPrefix); ok {
			if n, err := strconv.ParseUint(text, 10, 63); err == nil && setName(n) == e.Name() {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	return numbers, nil
}

// Next returns the number for the next set in dir, which need not exist. It refuses a
// directory with sets of another job, because the job would remove these after a while.
func Next(dir string, job Job) (uint64, error) {
	numbers, err := sets(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("look for checkpoints: %w", err)
	}
	for _, n := range numbers {
		s, err := readSet(dir, n)
		if errors.Is(err, ErrIrregular) {
			return 0, err
		}
		if err == nil {
			if err := s.Job.matches(job); err != nil {
				return 0, fmt.Errorf("%s holds %s: %w; choose another directory", dir, setName(n), err)
			}
		}
	}
	if len(numbers) == 0 {
		return 1, nil
	}
	return numbers[0] + 1, nil
}

// Complete completes a set after every rank has written its file. It then removes all sets
// before the last two complete ones.
func (s *Set) Complete(dir string) error {
	s.Format = version
	slices.SortFunc(s.Files, func(a, b File) int { return a.Rank - b.Rank })
	for rank := range s.Job.Ranks {
		if rank >= len(s.Files) || s.Files[rank].Rank != rank || len(s.Files) > s.Job.Ranks {
			return fmt.Errorf("complete checkpoint set %d: it has %d files for %d ranks", s.Number, len(s.Files), s.Job.Ranks)
		}
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = s.here(dir)
	}
	if err == nil {
		err = replaceFile(filepath.Join(dir, setName(s.Number), indexName), func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s\n%016x\n", text, xxh3.Hash(text))
			return err
		}, nil)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("complete checkpoint set %d: %w", s.Number, err)
	}
	return prune(dir)
}

// here checks that this process sees the files of the set.
func (s *Set) here(dir string) error {
	for _, f := range s.Files {
		path := s.path(dir, f.Rank)
		st, err := os.Lstat(path)
		if err == nil {
			err = regular(path, st)
		}
		if errors.Is(err, fs.ErrNotExist) || err == nil && st.Size() != f.Bytes {
			return fmt.Errorf("%s was written, and is not here: is %s on a file system that all hosts share?", fileName(f.Rank), dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prune removes the complete sets that are too old to keep, and the incomplete sets before
// the newest complete one.
func prune(dir string) error {
	numbers, err := sets(dir)
	if err != nil {
		return fmt.Errorf("remove old checkpoints: %w", err)
	}
	complete := 0
	for _, n := range numbers {
		set := filepath.Join(dir, setName(n))
		if realFolder(set) != nil { // it was removed, or it is not a set
			continue
		}
		switch {
		case isComplete(set) && complete < KeptSets:
			complete++
			continue
		case complete == 0:
			continue // an incomplete set that may still be written
		}
		if err := os.Remove(filepath.Join(set, indexName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove old checkpoints: %w", err)
		}
		if err := os.RemoveAll(set); err != nil {
			return fmt.Errorf("remove old checkpoints: %w", err)
		}
	}
	return nil
}

// isComplete reports whether a set has its index.
func isComplete(set string) bool {
	st, err := os.Lstat(filepath.Join(set, indexName))
	return err == nil && st.Mode().IsRegular()
}

// Discard removes a set that will never be complete, to free its space.
func Discard(dir string, number uint64) error {
	set := filepath.Join(dir, setName(number))
	err := realFolder(set)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !isComplete(set) {
		err = os.RemoveAll(set)
	}
	if err != nil {
		return fmt.Errorf("remove checkpoint set %d, which is not complete: %w", number, err)
	}
	return nil
}

// Sweep discards the incomplete sets with number first or higher that a job has left at its end.
func Sweep(dir string, first uint64) error {
	numbers, err := sets(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for checkpoints: %w", err)
	}
	var errs []error
	for _, n := range numbers {
		if n >= first {
			errs = append(errs, Discard(dir, n))
		}
	}
	return errors.Join(errs...)
}

// ErrIncomplete means that a rank had not written its file when the job ended.
var ErrIncomplete = errors.New("the set is incomplete")

func readSet(dir string, number uint64) (*Set, error) {
	set := filepath.Join(dir, setName(number))
	if err := realFolder(set); err != nil {
		return nil, err
	}
	f, err := openRegular(filepath.Join(set, indexName), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrIncomplete
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	s, err := parseSet(b)
	if err != nil {
		return nil, fmt.Errorf("its index: %w", err)
	}
	if s.Number != number {
		return nil, fmt.Errorf("%w: its index is that of set %d", ErrForeign, s.Number)
	}
	return s, nil
}

func parseSet(b []byte) (*Set, error) {
	text, sum, ok := bytes.Cut(b, []byte("\n"))
	var s Set
	if !ok || string(sum) != fmt.Sprintf("%016x\n", xxh3.Hash(text)) {
		return nil, fmt.Errorf("%w: it is not as it was written", ErrCorrupt)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if s.Format != version {
		return nil, fmt.Errorf("%w: format %d, and this program reads %d", ErrVersion, s.Format, version)
	}
	for i := range s.Files {
		if s.Files[i].Rank != i {
			return nil, fmt.Errorf("%w: it names rank %d in place of %d", ErrCorrupt, s.Files[i].Rank, i)
		}
	}
	if s.Job.Ranks < 1 || len(s.Files) != s.Job.Ranks {
		return nil, fmt.Errorf("%w: it has %d files for %d ranks", ErrCorrupt, len(s.Files), s.Job.Ranks)
	}
	return &s, nil
}
