package vary

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/intrahpc/intra/update"
)

// Variable is one that the program has registered, as it is now.
type Variable struct {
	Name string
	Type reflect.Type // of the elements that its memory holds; nil: bytes that nobody else can read
	Mem  []byte       // of the program
}

// Record is what a process has seen at a safe point.
type Record struct {
	Point     uint64
	Sections  uint64 // before it
	Disturbed int64  // numbers, since the beginning
	Compared  []Compared
}

// Compared is a variable of which the values were written, by the undisturbed set, or
// compared with these.
type Compared struct {
	Name string
	Difference
}

// Recorder disturbs a process and records its safe points. All of it but Ran is called by
// the goroutine of the program.
type Recorder struct {
	run       Run
	rank      int
	limit     int64 // of what is written of values
	disturbed atomic.Int64

	file   *os.File // of records; nil before the first safe point
	out    *gob.Encoder
	values *valueFile
}

// NewRecorder returns that of a process of a job with so many ranks.
func NewRecorder(r Run, rank, ranks int) *Recorder {
	return &Recorder{run: r, rank: rank, limit: r.Size / int64(ranks)}
}

// Ran comes after a task has run that writes those regions. Several tasks may have at
// the same time: what is chosen depends on their numbers only.
func (r *Recorder) Ran(section uint64, task int, regions []update.Region) {
	if r.run.Set > 0 && r.run.Bits > 0 {
		rng := chance(r.run.Seed, 1, uint64(r.run.Set), uint64(r.rank), section, uint64(task))
		r.disturbed.Add(turnBits(regions, r.run.Bits, rng))
	}
}

// Order returns orders in which the partial results of the tasks of a section are folded,
// one for each time that it is asked, nil if that is the order of the tasks.
func (r *Recorder) Order(section uint64) func(n int) []int {
	if r.run.Set == 0 || !r.run.Order {
		return nil
	}
	rng := chance(r.run.Seed, 3, uint64(r.run.Set), uint64(r.rank), section)
	return func(n int) []int {
		if n > 1 {
			r.disturbed.Add(1)
		}
		return rng.Perm(n)
	}
}

// ErrNothing means that there is nothing to compare.
var ErrNothing = errors.New("-vary compares registered variables, and the program has registered none: register its result with //intra:state or intra.Protect")

// Pass comes at a safe point, before which there were so many sections, with the
// registered variables as they are.
func (r *Recorder) Pass(point, sections uint64, vars []Variable) error {
	if len(vars) == 0 {
		return ErrNothing
	}
	if r.file == nil {
		if err := r.begin(vars); err != nil {
			return err
		}
	}
	rec := Record{Point: point, Sections: sections, Disturbed: r.disturbed.Load()}
	if (point-1)%r.run.Every == 0 {
		var err error
		if rec.Compared, err = r.compare(point, vars); err != nil {
			return err
		}
	}
	if err := r.out.Encode(&rec); err != nil {
		return fmt.Errorf("-vary: write what safe point %d shows: %w", point, err)
	}
	return nil
}

// begin is for the first safe point.
func (r *Recorder) begin(vars []Variable) error {
	for _, d := range r.run.State {
		if err := r.shake(d, vars); err != nil {
			return err
		}
	}
	var err error
	if r.file, err = os.Create(recordName(r.run.Dir, r.run.Set, r.rank)); err != nil {
		return fmt.Errorf("-vary: keep what safe points show: %w", err)
	}
	r.out = gob.NewEncoder(r.file)
	r.values, err = openValues(filepath.Join(r.run.Dir, fmt.Sprintf("values-%d", r.rank)), r.run.Set > 0)
	return err
}

// shake disturbs variables. The undisturbed set only looks whether they are there.
func (r *Recorder) shake(d Disturbance, vars []Variable) error {
	for i, v := range vars {
		if d.Name != "" && v.Name != d.Name {
			continue
		}
		numbers := v.Type != nil && slices.ContainsFunc(layout(element(v.Type)), func(x run) bool { return x.float })
		switch {
		case !numbers && d.Name != "":
			return fmt.Errorf("-vary state:%s: that variable has no floating-point numbers that could be disturbed: name another one", d.Name)
		case numbers && r.run.Set > 0:
			rng := chance(r.run.Seed, 2, uint64(r.run.Set), uint64(r.rank), uint64(i))
			r.disturbed.Add(shake(v.Type, v.Mem, d.Eps, rng))
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
	return fmt.Errorf("-vary state:%s: rank %d has registered no variable of that name, but %q", d.Name, r.rank, names)
}

// compare writes the values of the undisturbed set, or compares others with them. Where
// the undisturbed one has not come to that safe point there is nothing to compare with.
func (r *Recorder) compare(point uint64, vars []Variable) (all []Compared, err error) {
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
			if r.values.written += int64(len(v.Mem)); r.values.written > r.limit {
				return nil, fmt.Errorf("-vary: the values of the undisturbed set up to safe point %d are more than the %d bytes of a rank: compare fewer safe points (every=N), or allow more in %s (size=BYTES of all ranks, now %d)",
					point, r.limit, r.run.Dir, r.run.Size)
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

func recordName(dir string, set, rank int) string {
	return filepath.Join(dir, fmt.Sprintf("set-%d-%d", set, rank))
}
