package vary

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/update"
)

// Record holds the observations of a process at a safe point.
type Record struct {
	Ranks     int // number of ranks of the job
	Point     uint64
	Sections  uint64 // number of sections before the safe point
	Disturbed int64  // numbers disturbed since the beginning
	Compared  []Compared
}

// Compared is a variable of one set. The undisturbed set writes its values to a file, and
// every other set compares its own values with these.
type Compared struct {
	Name string
	Difference
}

// Recorder disturbs a process and records its safe points. The goroutine of the program
// calls it.
type Recorder struct {
	run       Run
	rank      int
	ranks     int
	silent    bool   // another replica of the rank records
	sections  uint64 // number of sections that have ended
	disturbed int64

	file   *os.File // holds records; nil before the first safe point
	out    *gob.Encoder
	values *valueFile
}

// Variable, in the environment of a process, holds a Run.
const Variable = "INTRA_VARY"

// Attach returns the recorder of a process, nil without a Run in its environment. All
// replicas of a rank are disturbed in the same way, and replica 0 records.
func Attach(rank, replica, ranks int) (*Recorder, error) {
	text := os.Getenv(Variable)
	if text == "" {
		return nil, nil
	}
	r := &Recorder{rank: rank, ranks: ranks, silent: replica > 0}
	if err := json.Unmarshal([]byte(text), &r.run); err != nil {
		return nil, fmt.Errorf("read %s in the environment, which intravary sets: %w", Variable, err)
	}
	return r, nil
}

// Ran is called for each task of a section after the section has ended, before its results
// are used. Regions are those of the task.
func (r *Recorder) Ran(task int, regions []update.Region) {
	if r.run.Set > 0 && r.run.Bits > 0 {
		r.disturbed += turnBits(regions, r.run.Bits, chance(r.run.Seed, 1, uint64(r.run.Set), uint64(r.rank), r.sections, uint64(task)))
	}
}

// Ended is called after the last task of a section. It returns nil if partial results are
// to be combined in the order of the tasks. Otherwise it returns a function that returns a
// new order on each call.
func (r *Recorder) Ended() func(n int) []int {
	r.sections++
	if r.run.Set == 0 || !r.run.Order {
		return nil
	}
	rng := chance(r.run.Seed, 3, uint64(r.run.Set), uint64(r.rank), r.sections)
	return func(n int) []int {
		if n > 1 {
			r.disturbed++
		}
		return rng.Perm(n)
	}
}

// ErrNothing means that there is nothing to compare.
var ErrNothing = errors.New("intravary compares registered variables, and the program has registered none: register its result with //intra:state or intra.Protect")

// Pass is called at a safe point with the registered variables. It disturbs and compares
// them.
func (r *Recorder) Pass(point uint64, vars []checkpoint.Variable) error {
	if len(vars) == 0 {
		return ErrNothing
	}
	if point == 1 {
		if err := r.begin(vars); err != nil {
			return err
		}
	}
	if r.silent {
		return nil
	}
	rec := Record{Ranks: r.ranks, Point: point, Sections: r.sections, Disturbed: r.disturbed}
	if (point-1)%r.run.Every == 0 {
		var err error
		if rec.Compared, err = r.compare(point, vars); err != nil {
			return err
		}
	}
	if err := r.out.Encode(&rec); err != nil {
		return fmt.Errorf("intravary: write what safe point %d shows: %w", point, err)
	}
	return nil
}

// begin prepares the recorder at the first safe point.
func (r *Recorder) begin(vars []checkpoint.Variable) error {
	for _, d := range r.run.State {
		if err := r.shake(d, vars); err != nil {
			return err
		}
	}
	if r.silent {
		return nil
	}
	var err error
	if r.file, err = os.Create(recordName(r.run.Dir, r.run.Set, strconv.Itoa(r.rank))); err != nil {
		return fmt.Errorf("intravary: keep what safe points show: %w", err)
	}
	r.out = gob.NewEncoder(r.file)
	r.values, err = openValues(filepath.Join(r.run.Dir, fmt.Sprintf("values-%d", r.rank)), r.run.Set > 0)
	return err
}

// shake disturbs variables. In the undisturbed set it only checks that they exist.
func (r *Recorder) shake(d Disturbance, vars []checkpoint.Variable) error {
	for i, v := range vars {
		if d.Name != "" && v.Name != d.Name {
			continue
		}
		numbers := v.Type != nil && slices.ContainsFunc(layout(element(v.Type)), func(x run) bool { return x.float })
		switch {
		case !numbers && d.Name != "":
			return fmt.Errorf("-state %s=EPS: that variable has no floating-point numbers that could be disturbed: name another one", d.Name)
		case numbers && r.run.Set > 0:
			rng := chance(r.run.Seed, 2, uint64(r.run.Set), uint64(r.rank), uint64(i))
			r.disturbed += shake(v.Type, v.Mem, d.Eps, rng)
		}
		if d.Name != "" {
			return nil
		}
	}
	if d.Name == "" {
		return nil
	}
	names := make([]string, len(vars))
	for i, v := range vars {
		names[i] = v.Name
	}
	return fmt.Errorf("-state %s=EPS: rank %d has registered no variable of that name, but %q", d.Name, r.rank, names)
}

// compare writes the values of the undisturbed set, or compares those of another set with
// them. If the undisturbed set did not reach that safe point, compare returns nothing.
func (r *Recorder) compare(point uint64, vars []checkpoint.Variable) (all []Compared, err error) {
	if r.run.Set > 0 {
		if there, err := r.values.next(point, len(vars)); !there || err != nil {
			return nil, err
		}
	} else if err := r.values.begin(point, len(vars)); err != nil {
		return nil, err
	}
	for _, v := range vars {
		c := Compared{Name: v.Name}
		if r.run.Set == 0 {
			if r.values.written += int64(len(v.Mem)); r.values.written > r.run.Size/int64(r.ranks) {
				return nil, fmt.Errorf("intravary: the values of the undisturbed set up to safe point %d are more than the %d bytes of a rank: compare fewer safe points (-every N), or allow more in %s (-size BYTES of all ranks, now %d)",
					point, r.run.Size/int64(r.ranks), r.run.Dir, r.run.Size)
			}
			if err = r.values.write(v.Name, v.Mem); err != nil {
				return nil, err
			}
		} else {
			was, err := r.values.read(v.Name)
			if err != nil {
				return nil, err
			}
			c.Difference = compare(v.Type, was, v.Mem)
		}
		all = append(all, c)
	}
	if r.run.Set == 0 {
		err = r.values.end()
	}
	return all, err
}

func recordName(dir string, set int, rank string) string {
	return filepath.Join(dir, fmt.Sprintf("set-%d-%s", set, rank))
}
