//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"

	"github.com/intrahpc/intra/cmd/intrabench/internal/messages"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport/sdr"
)

// asRank makes intrabench a process of a job that it has started itself.
const asRank = "-rank"

// workMessages is the number of messages in a round that measures the cost of the protocol.
const workMessages = 20_000

// messageFlags are the flags that the measurements of messages share.
type messageFlags struct {
	messages.Options
	json   *jsonFile
	mpirun string
	quiet  bool
}

// newMessageFlags defines these flags.
func newMessageFlags(name string, args []string, links, degrees string) (*flag.FlagSet, *messageFlags) {
	fs, f := newFlags(name), &messageFlags{}
	f.Links, _ = parseLinks(links)
	f.Degrees, _ = parseAllDegrees(degrees)
	fs.Func("link", fmt.Sprintf("`kinds` of links, comma-separated (default %s)", links), func(s string) (err error) {
		f.Links, err = parseLinks(s)
		return err
	})
	fs.Func("degrees", fmt.Sprintf("`degrees` of the ranks of each job, separated by spaces (default %q)", degrees), func(s string) (err error) {
		f.Degrees, err = parseAllDegrees(s)
		return err
	})
	fs.IntVar(&f.Rounds, "rounds", 7, "how often every job runs, in turn")
	fs.DurationVar(&f.Time, "time", 30*time.Millisecond, "about how long a job measures each size")
	fs.StringVar(&f.Peer, "peer", "", "also run the shell `command` in every round, like 'mpirun -np 2 /tmp/peer', and print the\nratios; cmd/intrabench/peer has such a program")
	fs.StringVar(&f.mpirun, "mpirun", "mpirun -np", "what starts the jobs of -link mpi: a `command`, followed by the number of processes and intrarun; intrabench needs the\ntag mpi for them")
	f.json = jsonFlag(fs, args)
	fs.BoolVar(&f.quiet, "quiet", false, "print no progress on standard error")
	return fs, f
}

// measure runs the jobs.
func (f *messageFlags) measure(ctx context.Context) ([]messages.Result, error) {
	if f.Rounds < 1 || f.Time <= 0 {
		return nil, errors.New("-rounds and -time must be positive")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the executable of the processes: %w", err)
	}
	f.Program = []string{self, asRank}
	if slices.Contains(f.Links, job.LinkMPI) {
		dir, err := os.MkdirTemp("", "intrabench-")
		if err != nil {
			return nil, fmt.Errorf("make room for intrarun: %w", err)
		}
		defer os.RemoveAll(dir)
		if f.MPIRun = strings.Fields(f.mpirun); len(f.MPIRun) == 0 {
			return nil, errors.New("-mpirun is empty: give it a command like 'mpirun -np'")
		}
		if f.Intrarun, err = findIntrarun(ctx, dir); err != nil {
			return nil, err
		}
	}
	var before func(int)
	if !f.quiet {
		before = func(round int) { tellRound("", round, f.Rounds) }
	}
	return messages.Measure(ctx, f.Options, before)
}

// write writes the results, and work if there is any.
func (f *messageFlags) write(out io.Writer, results []messages.Result, work []messages.Work) error {
	if err := f.print(out, results, work); err != nil {
		return err
	}
	return f.json.write(messageResults{results, work})
}

// messageResults is the content of a file of -json.
type messageResults struct {
	Results  []messages.Result `json:"results"`
	Protocol []messages.Work   `json:"protocol,omitempty"`
}

// print writes the results as text.
func (f *messageFlags) print(out io.Writer, results []messages.Result, work []messages.Work) error {
	fmt.Fprintf(out, "%s, %d cores, %s; %d rounds in alternation: median [quartiles]\n\n",
		cpuid.CPU.BrandName, runtime.NumCPU(), runtime.Version(), f.Rounds)
	if err := messages.Table(out, f.Options, results); err != nil || work == nil {
		return err
	}
	fmt.Fprintln(out)
	return messages.WorkTable(out, work)
}

// runPingpong measures half round trips and the bandwidth of messages between two ranks,
// without and with replicas. With -any the ranks receive from any source, and each job runs
// twice. In the first its replicas agree on the order of messages. In the second the program
// asserts that the order does not matter.
func runPingpong(ctx context.Context, args []string, out io.Writer) error {
	fs, f := newMessageFlags("pingpong", args, "shm,unix,tcp", "1,1 2,1 2,2")
	largest := fs.Int("max", 8<<20, "largest message in `bytes`")
	fromAny := fs.Bool("any", false, "receive from any source, one message there and back and 100 there: replicas that agree on the\norder of messages, and the same program with AssertSendDeterministic")
	if err := parse(fs, args); err != nil {
		return err
	}
	if *largest < 1 {
		return errors.New("-max must be at least 1")
	}
	for _, d := range f.Degrees {
		if len(d) != 2 {
			return fmt.Errorf("-degrees %s: a ping-pong has two ranks", messages.Degrees(d))
		}
	}
	if *fromAny && f.Peer != "" {
		return errors.New("-any: the program of -peer does not receive from any source")
	}
	f.Cases = messages.PingpongCases(*largest)
	if *fromAny {
		f.Cases, f.Orders = messages.AnySourceCases(*largest), []messages.Order{messages.Asserted, messages.Decided}
	}
	results, err := f.measure(ctx)
	if err != nil {
		return err
	}
	if *fromAny {
		return f.write(out, results, nil)
	}
	work, err := messages.MeasureWork(ctx, f.Degrees, f.Rounds, workMessages)
	if err != nil {
		return err
	}
	return f.write(out, results, work)
}

// runCollectives measures collective operations, without and with replicas.
func runCollectives(ctx context.Context, args []string, out io.Writer) error {
	fs, f := newMessageFlags("collectives", args, "shm", "1,1 2,2 1,1,1,1")
	if err := parse(fs, args); err != nil {
		return err
	}
	f.Cases = messages.CollectiveCases()
	results, err := f.measure(ctx)
	if err != nil {
		return err
	}
	return f.write(out, results, nil)
}

// parseLinks parses a list like "shm,unix".
func parseLinks(s string) ([]string, error) {
	kinds := []string{job.LinkSHM, job.LinkUnix, job.LinkTCP, job.LinkMPI}
	links := strings.Split(s, ",")
	for _, l := range links {
		if !slices.Contains(kinds, l) {
			return nil, fmt.Errorf("unknown link %q: want some of %s", l, strings.Join(kinds, ","))
		}
	}
	return links, nil
}

// parseAllDegrees parses a list like "1,1 2,1".
func parseAllDegrees(s string) ([][]int, error) {
	var all [][]int
	for d := range strings.FieldsSeq(s) {
		var degrees []int
		for f := range strings.SplitSeq(d, ",") {
			n, err := strconv.Atoi(f)
			if err != nil || n < 1 || n > sdr.MaxReplicas {
				return nil, fmt.Errorf("degrees %q: want numbers from 1 to %d, like 2,1", d, sdr.MaxReplicas)
			}
			degrees = append(degrees, n)
		}
		all = append(all, degrees)
	}
	if all == nil {
		return nil, errors.New("want the degrees of at least one job, like 2,1")
	}
	return all, nil
}
