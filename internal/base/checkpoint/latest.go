package checkpoint

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Latest returns the newest complete set in dir without a changed byte, and the reason why
// it refused each newer set. If there is no such set, the error contains the reasons.
// Latest refuses sets of several runs, unless dir is a single set, because it cannot know
// which run is meant.
func Latest(dir string, job Job) (s *Set, refused []error, err error) {
	parent, numbers, err := choose(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("look for checkpoints: %w", err)
	}
	var runs []found // one set of each run
	for _, n := range numbers {
		c, err := readSet(parent, n)
		run := ""
		if err == nil {
			run, err = c.Job.Run, c.Job.matches(job)
		} else {
			run = runOf(parent, n)
		}
		if err == nil && s == nil {
			err = c.Verify(parent)
		}
		if run != "" && !slices.ContainsFunc(runs, func(f found) bool { return f.run == run }) {
			runs = append(runs, found{run, n, c})
		}
		switch {
		case s != nil: // s is chosen already; of older sets only the run matters
		case err == nil:
			s = c
		default:
			refused = append(refused, fmt.Errorf("checkpoint %s is not used: %w", setName(n), err))
		}
	}
	switch {
	case s == nil && len(refused) == 0:
		return nil, nil, fmt.Errorf("there is no checkpoint in %s", dir)
	case s == nil:
		return nil, refused, fmt.Errorf("there is no usable checkpoint in %s: %w", dir, errors.Join(refused...))
	case len(runs) > 1:
		return nil, refused, severalRuns(dir, runs)
	}
	return s, refused, nil
}

// found is one set and its run.
type found struct {
	run    string
	number uint64
	set    *Set // nil if the set is not complete
}

// ErrSeveral means that the sets in a directory belong to several jobs.
var ErrSeveral = errors.New("sets of several jobs")

func severalRuns(dir string, runs []found) error {
	var list []string
	for _, f := range runs {
		text := fmt.Sprintf("%s of the job begun %s", setName(f.number), Begun(f.run))
		if f.set == nil {
			text += " (not complete)"
		} else {
			text += fmt.Sprintf(" (safe point %d)", f.set.Cut)
		}
		list = append(list, text)
	}
	return fmt.Errorf("%s holds %w: %s; name the set to continue from, like %s", dir, ErrSeveral, strings.Join(list, ", "),
		filepath.Join(dir, setName(runs[0].number)))
}

// choose returns the directory of the sets to which dir refers, and their
// numbers: all sets in dir, or the one set that dir is.
func choose(dir string) (parent string, numbers []uint64, err error) {
	base := filepath.Base(dir)
	if text, ok := strings.CutPrefix(base, setPrefix); ok {
		if n, err := strconv.ParseUint(text, 10, 63); err == nil && setName(n) == base {
			return filepath.Dir(dir), []uint64{n}, realFolder(dir)
		}
	}
	numbers, err = sets(dir)
	return dir, numbers, err
}

// runOf returns the run of a set without a usable index, "" if its files do not
// contain it.
func runOf(dir string, number uint64) string {
	names, err := filepath.Glob(filepath.Join(dir, setName(number), "rank-*"))
	if err != nil {
		return ""
	}
	for _, name := range names {
		if run := runOfFile(name); run != "" {
			return run
		}
	}
	return ""
}

func runOfFile(name string) string {
	f, err := openRegular(name, os.O_RDONLY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	d := decoder{r: bufio.NewReader(f), left: st.Size()}
	if err := d.begin(); err != nil {
		return ""
	}
	return d.header.Job.Run
}

// Directory returns the directory of the sets to which dir refers.
func Directory(dir string) string {
	parent, _, err := choose(dir)
	if err != nil {
		return dir
	}
	return parent
}

// matches returns the reason why job o cannot continue from a state of job j. Some reasons
// are final; others the user may override (ErrArguments, ErrProgram). Unknown properties
// are not compared.
func (j Job) matches(o Job) error {
	switch {
	case j.Arch != o.Arch:
		return fmt.Errorf("%w: it was made on %s, not %s", ErrForeign, j.Arch, o.Arch)
	case j.Ranks != o.Ranks:
		return fmt.Errorf("%w: it was made by %d ranks, this job has %d", ErrForeign, j.Ranks, o.Ranks)
	case j.Tasks != o.Tasks:
		return fmt.Errorf("%w: it was made with %d tasks, now there are %d", ErrForeign, j.Tasks, o.Tasks)
	case j.Program != o.Program && j.Program != "" && o.Program != "":
		return fmt.Errorf("%w: it was made by %s, this is %s", ErrProgram, j.Program, o.Program)
	case j.Args != o.Args && j.Args != "" && o.Args != "":
		return fmt.Errorf("%w: it was made with %s, this job has %s", ErrArguments, showArgs(j.Args), showArgs(o.Args))
	}
	return nil
}

// These are errors for errors.Is.
var (
	// ErrProgram means that another program has made the set.
	ErrProgram = errors.New("checkpoint of another program")
	// ErrArguments means that the program has made the set with other arguments.
	ErrArguments = errors.New("checkpoint of a job with other arguments of the program")
)

// maxArgs is the maximum length of encoded arguments; longer ones are replaced by
// a hash.
const maxArgs = 8 << 10

// EncodeArgs returns the arguments of a program in the format of Job.Args.
func EncodeArgs(args []string) string {
	if args == nil {
		args = []string{}
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic("checkpoint: arguments that cannot be encoded: " + err.Error()) // strings can always be encoded
	}
	if len(b) > maxArgs {
		sum := sha256.Sum256(b)
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return string(b)
}

// showArgs returns encoded arguments as the user typed them.
func showArgs(encoded string) string {
	var args []string
	if json.Unmarshal([]byte(encoded), &args) != nil {
		return "arguments with the hash " + encoded
	}
	if len(args) == 0 {
		return "no arguments"
	}
	for i, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\$`") {
			args[i] = strconv.Quote(a)
		}
	}
	return "`" + strings.Join(args, " ") + "`"
}

// NewRun returns a name for a job that does not continue another one.
func NewRun(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UTC().Format(time.RFC3339) + "-" + hex.EncodeToString(b[:])
}

// Begun returns, as text, the time at which a run began.
func Begun(run string) string {
	at, _, _ := strings.Cut(run, "Z-")
	if at == "" {
		return "at an unknown time"
	}
	return strings.Replace(at, "T", " ", 1) + " UTC"
}
