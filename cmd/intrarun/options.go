//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch"
	"github.com/intrahpc/intra/internal/timeline"
)

// options holds the values of the flags of one command line. A flag that depends on others is
// stored as given until all flags are read.
type options struct {
	launch.Config
	given map[string][]string // the arguments of each flag; only the last one if the flag does not repeat
	facts map[string]string   // terms that hold without a flag, with a text about their origin

	ranks, replicas int
	least           int   // MIN of -r MIN..MAX, whose MAX is replicas; 0: -r is one number
	degrees         []int // of -degrees: the most replicas of each rank
	leasts          []int // the fewest replicas of each rank; nil: the same as degrees
	seed            uint64
	dir             string // argument of -checkpoint
	every           uint64
	page, token     string
	hosts, hostfile string
	alone           *bool // nil: intrarun decides

	oversubscribe, strict bool
}

func newOptions() *options {
	return &options{
		Config: launch.Config{
			Job: launch.Job{Links: launch.Links{Kind: job.LinkSHM, Ring: job.DefaultRing}, Direct: job.DirectAuto, Diverge: job.DivergeStrict, Threads: 1, TraceLimit: timeline.DefaultLimit,
				Stuck: launch.Stuck{After: launch.DefaultStuck}, Endless: launch.DefaultEndless},
			Bind: affinity.Auto, Fanout: spawn.DefaultFanout, Stdin: os.Stdin,
		},
		given: make(map[string][]string), facts: make(map[string]string),
		ranks: 1, replicas: 2, seed: 1, every: defaultEvery,
	}
}

// has reports whether a flag is on the command line.
func (o *options) has(name string) bool { return o.given[name] != nil }

// complete computes the options that follow from several flags.
func (o *options) complete() (err error) {
	if o.Check {
		o.Threads = 1
	}
	if o.Faults.Weibull != nil {
		o.Faults.Weibull.Seed = o.seed
	}
	if o.Verify != nil {
		if o.Verify.Seed = o.seed; !o.has("seed") {
			o.Verify.Seed = rand.Uint64()
		}
	}
	if o.has("checkpoint") {
		o.Folders.Checkpoint = &head.Checkpoint{Dir: o.dir, Every: o.every}
	}
	if o.has("http") {
		if o.Page, err = pageAddress(o.page, o.token, o.has("http-token")); err != nil {
			return err
		}
	}
	if o.least > 0 || o.leasts != nil {
		o.Replace, o.given["replace"] = true, []string{bare}
	}
	if !o.has("drain") {
		o.Drain = managed(os.Getenv)
	}
	o.Links.MPIBetween = o.Links.MPI && o.Links.Kind != job.LinkMPI
	if o.Links.Kind == job.LinkMPI {
		if !o.Links.MPI {
			return errors.New("-link mpi needs -mpi, because the library is that of the launcher: add -mpi, or leave out -link")
		}
		o.Links.Kind = job.LinkSHM // for processes that join later
	}
	return o.resolveDegrees()
}

// maxProcesses bounds the processes of a job. It is far more than hosts can run, and small
// enough to avoid overflow.
const maxProcesses = 1 << 16

// resolveDegrees determines the number of replicas of each rank, and the facts about it that
// rules need.
func (o *options) resolveDegrees() (err error) {
	spec := job.Spec{Degrees: o.degrees}
	switch {
	case o.degrees == nil && o.ranks > maxProcesses/o.replicas:
		return fmt.Errorf("-n %d with %d replicas each: more than %d processes", o.ranks, o.replicas, maxProcesses)
	case o.degrees == nil:
		spec = job.Spec{Ranks: o.ranks, Replicas: o.replicas}
	case o.has("n") && o.ranks != len(o.degrees):
		return fmt.Errorf("-n %d, but -degrees %s is for %d ranks: leave -n out", o.ranks, o.given["degrees"][0], len(o.degrees))
	}
	if o.Degrees, err = spec.Resolve(); err != nil {
		return err
	}
	if o.Least = o.leasts; o.least > 0 {
		o.Least = slices.Repeat([]int{o.least}, len(o.Degrees))
	}
	if len(o.Degrees) == 1 {
		o.facts[oneRank] = "the job has one rank"
	}
	if slices.Contains(o.Least, 1) {
		o.facts[oneReplica] = o.ranges() + " allows ranks with one replica"
	} else if rank := slices.Index(o.Degrees, 1); rank >= 0 {
		o.facts[oneReplica] = fmt.Sprintf("rank %d has one replica", rank)
	}
	return nil
}

// parseReplicas sets -r: a number of replicas, or MIN..MAX.
func parseReplicas(o *options, text string) error {
	least, most, ranged := strings.Cut(text, "..")
	o.least = 0
	if !ranged {
		return number(func(o *options) *int { return &o.replicas }, 1, maxProcesses, "replicas of each rank")(o, text)
	}
	var err1, err2 error
	o.least, err1 = strconv.Atoi(least)
	o.replicas, err2 = strconv.Atoi(most)
	if err1 != nil || err2 != nil || o.least < 1 || o.replicas <= o.least || o.replicas > maxProcesses {
		return errors.New("want MIN..MAX replicas of each rank, like 1..2")
	}
	return nil
}

// ranges returns the flag that has set ranges of replicas, with its argument.
func (o *options) ranges() string {
	if o.least > 0 {
		return "-r " + o.given["r"][0]
	}
	return "-degrees " + o.given["degrees"][0]
}

// parseDegrees sets -degrees: a list like 2,1,2, also with ranges like 1..3,1,2..2.
func parseDegrees(o *options, list string) error {
	sum := 0
	o.degrees, o.leasts = nil, nil
	var leasts []int
	for s := range strings.SplitSeq(list, ",") {
		least, most, ranged := strings.Cut(strings.TrimSpace(s), "..")
		d, err := strconv.Atoi(least)
		if err != nil || d < 1 {
			return fmt.Errorf("%q is not a number of replicas, want numbers from 1 like 2,1,2, or ranges like 1..2", s)
		}
		leasts = append(leasts, d)
		if ranged {
			if d, err = strconv.Atoi(most); err != nil || d < leasts[len(leasts)-1] {
				return fmt.Errorf("%q is not a range of replicas, want MIN..MAX like 1..2", s)
			}
		}
		if sum += min(d, maxProcesses+1); sum > maxProcesses {
			return fmt.Errorf("more than %d processes", maxProcesses)
		}
		o.degrees = append(o.degrees, d)
	}
	if !slices.Equal(leasts, o.degrees) {
		o.leasts = leasts
	}
	return nil
}

// chooseDirect replaces -direct auto by off if a rule would refuse -direct on.
func (o *options) chooseDirect() {
	if o.Direct == job.DirectAuto && o.clash(find("direct"), true) != nil {
		o.Direct = job.DirectOff
	}
}

// warnOfOld prints the new spelling for each flag that was given in an old one.
func (o *options) warnOfOld(out io.Writer) {
	for i := range table {
		r := &table[i]
		if x := o.Indexed; r.now == "" || !o.has(r.name) || o.Quiet || x != nil && x.Index > 0 {
			continue
		}
		fmt.Fprintf(out, "intrarun: warning: -%s is an old spelling, which only this version reads: write -fault %s%s\n", r.name, r.now, o.given[r.name][0])
	}
}
