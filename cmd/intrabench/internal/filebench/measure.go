package filebench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Options sets what is written, and where.
type Options struct {
	Dirs   []string
	Bytes  int64 // size of a file
	Calls  int   // number of calls in which each rank writes its part
	Rounds int
	Before func(what string, round int) // called before each file, rounds from 0; may be nil
}

// Way is one way to write a file.
type Way struct {
	Name     string
	Replicas int // replicas of each rank; 0: plain processes
}

// Ways write in turn, in each folder.
var Ways = []Way{{"os.File", 0}, {"-r 1", 1}, {"-r 2", 2}}

// Results are the results of all ways, folder by folder.
type Results struct {
	Files []*Result `json:"files"`
}

// Result is the measurement of one way in one folder.
type Result struct {
	Dir   string   `json:"dir"`
	Way   string   `json:"way"`
	Bytes int64    `json:"bytes"`
	Calls int      `json:"calls"`
	Times []Times  `json:"times"` // by round
	Write Measured `json:"write"` // the calls that write, without an fsync
	Whole Measured `json:"whole"` // from the creation of the file until its name is durable

	writer writer
	file   string
}

// Measured summarises the rounds.
type Measured struct {
	MBs spread.Spread `json:"mb_per_second"`
	// Plain is the bandwidth relative to that of os.File in the same round. Single is the bandwidth
	// relative to that of -r 1.
	Plain  spread.Spread `json:"plain"`
	Single spread.Spread `json:"single"`
}

// Measure writes a file in each way and folder in each round, after a round that is not measured.
// commands returns the command lines of a way's processes. The processes run until the end, so that
// no start delays the next of the files that are compared.
func Measure(ctx context.Context, commands func(Way, Job) [][]string, o Options) (all Results, err error) {
	defer func() {
		for _, r := range all.Files {
			err = errors.Join(err, r.writer.end())
		}
	}()
	for _, dir := range o.Dirs {
		own, err := os.MkdirTemp(dir, "intrabench-files-")
		if err != nil {
			return all, fmt.Errorf("make a folder for the files: %w", err)
		}
		defer os.RemoveAll(own)
		for i, way := range Ways {
			r := &Result{Dir: dir, Way: way.Name, Bytes: o.Bytes, Calls: o.Calls, file: filepath.Join(own, fmt.Sprint("file", i))}
			if r.writer, err = start(ctx, commands(way, Job{Name: r.file, Bytes: o.Bytes, Calls: o.Calls})); err != nil {
				return all, err
			}
			all.Files = append(all.Files, r)
		}
	}
	want := o.sum()
	for round := range o.Rounds + 1 {
		for i := range all.Files {
			r := all.Files[trial.Turn(round, i, len(all.Files))]
			what := fmt.Sprintf("%s in %s", r.Way, r.Dir)
			if o.Before != nil && round > 0 {
				o.Before(what, round-1)
			}
			t, err := r.writer.write()
			if err == nil && round == 0 {
				err = check(r.file, want)
			}
			if err != nil {
				return all, fmt.Errorf("%s: %w", what, err)
			}
			if round > 0 {
				r.Times = append(r.Times, t)
			}
		}
	}
	all.summarise()
	return all, nil
}

// sum returns the hash of the file.
func (o Options) sum() uint64 {
	sum := xxh3.New()
	for rank := range Ranks {
		part, _ := Job{Bytes: o.Bytes}.part(rank)
		_, _ = sum.Write(part) // writing to a hash cannot fail
	}
	return sum.Sum64()
}

// check requires that a file has that hash.
func check(name string, want uint64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := xxh3.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if got := sum.Sum64(); got != want {
		return fmt.Errorf("%s has the hash %016x, want %016x", name, got, want)
	}
	return nil
}

// summarise compares each way with the others in the same folder.
func (all Results) summarise() {
	write := func(t Times) float64 { return t.Write }
	whole := func(t Times) float64 { return t.Whole }
	for i, r := range all.Files {
		first := i - i%len(Ways)
		plain, single := all.Files[first], all.Files[first+1]
		r.Write, r.Whole = r.beside(plain, single, write), r.beside(plain, single, whole)
	}
}

func (r *Result) beside(plain, single *Result, seconds func(Times) float64) Measured {
	var rate, toPlain, toSingle []float64
	for round, t := range r.Times {
		own := seconds(t)
		rate = append(rate, float64(r.Bytes)/1e6/own)
		toPlain = append(toPlain, seconds(plain.Times[round])/own)
		toSingle = append(toSingle, seconds(single.Times[round])/own)
	}
	return Measured{spread.Of(rate), spread.Of(toPlain), spread.Of(toSingle)}
}
