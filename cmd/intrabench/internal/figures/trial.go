package figures

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Problem is the size of the problem. NZ is the number of points in z of one native rank. A
// replicated rank has twice as many.
type Problem struct {
	NX    int `json:"nx"`
	NY    int `json:"ny"`
	NZ    int `json:"nz"`
	Iters int `json:"iters"`
	Tasks int `json:"tasks"` // tasks of a section; 0 = the default of HPCCG

	Matrix string `json:"matrix"` // storage format, "" = the default of HPCCG
	Fused  bool   `json:"fused,omitempty"`
}

// Config is one way to run the problem on two cores.
type Config struct {
	Name     string   `json:"name"`
	Ranks    int      `json:"ranks"`
	Replicas int      `json:"replicas"`
	Degrees  string   `json:"degrees,omitempty"` // degrees of the ranks, if they differ
	Flags    []string `json:"flags,omitempty"`   // additional flags of intrarun
	Limit    float64  `json:"limit,omitempty"`   // bandwidth of a link in bytes per second
	Lag      float64  `json:"lag,omitempty"`     // age of an image in seconds, if results are kept
	Jobs     int      `json:"jobs,omitempty"`    // number of jobs at the same time; 0: one
	Base     string   `json:"base,omitempty"`    // name of the configuration with which this one is compared; "" = the first
}

// decides reports whether the replicas themselves decide which tasks to share.
func (c Config) decides() bool {
	return c.Replicas > 1 && c.Lag == 0 && !slices.Contains(c.Flags, "-sched")
}

// processes returns the number of cores that the configuration uses. The peer uses as many
// as the native run.
func (c Config) processes() float64 {
	if c.Name == PeerConfig.Name {
		return float64(Native.Ranks)
	}
	if c.Degrees != "" {
		n := 0
		for d := range strings.SplitSeq(c.Degrees, ",") {
			degree, _ := strconv.Atoi(d)
			n += degree
		}
		return float64(n)
	}
	return float64(c.Ranks * c.Replicas * max(c.Jobs, 1))
}

// The configurations of the paper's figure, and two more. Static has the schedule of the
// paper, Send always sends results, and Auto is the default of intrarun, which runs each kind
// of section in the fastest way.
var (
	Native     = Config{Name: "native", Ranks: 2, Replicas: 1}
	Replicated = Config{Name: "replicated", Ranks: 1, Replicas: 2, Flags: []string{"-sched", "replicate"}}
	Static     = Config{Name: "static", Ranks: 1, Replicas: 2, Flags: []string{"-sched", "static"}}
	Send       = Config{Name: "send", Ranks: 1, Replicas: 2, Flags: []string{"-direct=off"}}
	Auto       = Config{Name: "auto", Ranks: 1, Replicas: 2, Flags: []string{"-direct=auto"}}
)

// Limited returns Send over links of that bandwidth, which is written as for intrarun's
// -limit.
func Limited(limit string) (Config, error) {
	bytes, err := parseRate(limit)
	if err != nil {
		return Config{}, err
	}
	return Config{Name: "send at " + limit, Ranks: 1, Replicas: 2, Flags: []string{"-limit", limit}, Limit: bytes}, nil
}

// Beside returns a pair to compare: the native run over links with the limits of a
// configuration, and that configuration.
func Beside(limited Config) []Config {
	native := Native
	native.Limit = limited.Limit
	native.Flags = limited.Flags[slices.Index(limited.Flags, "-limit"):]
	native.Name = "native at " + native.Flags[1]
	limited.Base = native.Name
	return []Config{native, limited}
}

// shares reports whether the configuration may share over limited links.
func (c Config) shares() bool { return c.Limit > 0 && c.decides() }

// Kernels are the parts of HPCCG that share work, in the paper's order. Total is the whole
// solver, which also exchanges boundaries and sums over all ranks.
var Kernels = []string{"waxpby", "ddot", "sparsemv"}

// kernels returns the Kernels that every pass calls. If they are fused, ddot is called only once,
// at the start.
func (pr Problem) kernels() []string {
	if pr.Fused {
		return []string{"waxpby", "sparsemv"}
	}
	return slices.Clone(Kernels)
}

// rows returns the rows of the table, except that of the whole solver.
func (pr Problem) rows() []string {
	if pr.Fused {
		return pr.kernels()
	}
	return append(pr.kernels(), Summed)
}

// name returns HPCCG, and its differences from the original.
func (pr Problem) name() string {
	if pr.Fused {
		return "HPCCG -fused"
	}
	return "HPCCG"
}

// Total is the name of the whole solver among the samples of a trial.
const Total = "total"

// fusedSuffix ends the name of a task that combines a kernel with an inner product.
const fusedSuffix = "Dot"

// Summed is the name of ddot together with the sum over all ranks that follows it. In a native
// run the ranks wait for each other in that sum. Replicas already wait for each other within
// ddot, so the time of ddot alone would include waiting on one side only.
const Summed = "ddot and its sum over ranks"

// Trial is one run.
type Trial struct {
	Config   string            `json:"config"`
	Round    int               `json:"round"`
	Samples  map[string]Sample `json:"samples"` // by kernel, and for Total
	Passes   int               `json:"passes,omitempty"`
	Residual float64           `json:"residual,omitempty"`
	XSHA256  string            `json:"x_sha256,omitempty"`
	// StateSHA256 is the result of GTC. HPCCG has the three fields above instead.
	StateSHA256 string `json:"state_sha256,omitempty"`
	// Images and Sent are those of KeptRow, on average over all processes.
	Images float64 `json:"images,omitempty"`
	Sent   float64 `json:"sent_bytes,omitempty"`
	// Tasks are the samples by type of task.
	Tasks map[string]TaskSample `json:"tasks,omitempty"`
}

// Sample holds the measurements of one kernel in one run, on one process.
type Sample struct {
	Seconds     float64 `json:"seconds"`
	WaitSeconds float64 `json:"wait_seconds"`       // seconds spent waiting for updates: average of the processes
	UpdateBytes float64 `json:"update_bytes"`       // bytes of updates sent by all processes
	Sections    bool    `json:"sections,omitempty"` // some sections begin with such a task
	Run         float64 `json:"run,omitempty"`      // tasks run by all processes
	Received    float64 `json:"received,omitempty"` // task results received from a peer
	Decision    string  `json:"decision,omitempty"` // share or replicate, at the end
}

// Programs are the executables that trials run.
type Programs struct {
	Intrarun, App string
	// Hosts are the network namespaces of the hosts on which the programs run, each host with
	// one process of a job. Without any, the programs run on this host.
	Hosts []string
	dir   string
}

// Names of the measured programs, which are examples of this module.
const (
	HPCCG = "hpccg"
	GTC   = "gtc"
)

// Build builds intrarun and app (HPCCG or GTC). The sources are those of the module of this
// program.
func Build(ctx context.Context, app string) (*Programs, error) {
	dir, err := os.MkdirTemp("", "intrabench-")
	if err != nil {
		return nil, fmt.Errorf("make room for the programs: %w", err)
	}
	p := &Programs{Intrarun: filepath.Join(dir, "intrarun"), App: filepath.Join(dir, app), dir: dir}
	return p, p.build(ctx, map[string][]string{
		p.Intrarun: {module + "/cmd/intrarun"},
		p.App:      {"-tags=intra", module + "/examples/" + app},
	})
}

// BuildLauncher builds only intrarun. The program that intrarun runs is this one.
func BuildLauncher(ctx context.Context) (*Programs, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "intrabench-")
	if err != nil {
		return nil, fmt.Errorf("make room for the programs: %w", err)
	}
	p := &Programs{Intrarun: filepath.Join(dir, "intrarun"), App: self, dir: dir}
	return p, p.build(ctx, map[string][]string{p.Intrarun: {module + "/cmd/intrarun"}})
}

const module = "github.com/intrahpc/intra"

// build builds programs, each with its arguments of go build. If one fails, it removes all.
func (p *Programs) build(ctx context.Context, programs map[string][]string) error {
	for out, args := range programs {
		cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", out}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			p.Remove()
			return fmt.Errorf("go build %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(text))
		}
	}
	return nil
}

// Self runs App as a job, and decodes the line that it prints into out.
func (p *Programs) Self(ctx context.Context, flags []string, out any, args ...string) error {
	line, err := trial.Run(ctx, append(append([]string{p.Intrarun, "-quiet"}, flags...), append([]string{p.App}, args...)...))
	if err != nil {
		return err
	}
	return trial.Decode("the program printed", line, out)
}

// Remove removes the files of Build.
func (p *Programs) Remove() { os.RemoveAll(p.dir) }

// hpccg returns a run of the problem.
func (p *Programs) hpccg(c Config, pr Problem) trial.Job {
	nz := pr.NZ
	if c.Replicas > 1 {
		nz *= c.Replicas
	}
	args := append([]string{p.App}, trial.HPCCG(pr.NX, pr.NY, nz, pr.Iters)...)
	if pr.Tasks > 0 {
		args = append(args, "-tasks", strconv.Itoa(pr.Tasks))
	}
	if pr.Matrix != "" {
		args = append(args, "-matrix", pr.Matrix)
	}
	if pr.Fused {
		args = append(args, "-fused")
	}
	return p.job(c, args)
}

// Run makes one trial.
func (p *Programs) Run(ctx context.Context, c Config, pr Problem) (Trial, error) {
	dir, err := os.MkdirTemp(p.dir, "times-")
	if err != nil {
		return Trial{}, fmt.Errorf("%s: make room for the times: %w", c.Name, err)
	}
	defer os.RemoveAll(dir)
	j := p.hpccg(c, pr)
	j.Program = append(j.Program, "-times", dir)
	return try(ctx, c, j, func(out, report []byte) (Trial, error) {
		clocks, err := readTimes(dir)
		if err != nil {
			return Trial{}, err
		}
		return parseTrial(out, report, clocks)
	})
}

// clock holds the times of the parts of HPCCG in one process, in seconds.
type clock map[string]float64

// readTimes reads the times that the processes of HPCCG have written to files in a folder.
func readTimes(dir string) (all []clock, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the times of a process: %w", err)
		}
		var c clock
		if err := trial.Decode("the times are", b, &c); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// mean averages a time over all processes. If a replica is behind, the replicas share the work
// of a section unequally, so only the average over all of them is meaningful.
func mean(clocks []clock, part string) (sum float64) {
	for _, c := range clocks {
		sum += c[part] / float64(len(clocks))
	}
	return sum
}

// job returns a run of a program. program contains the name and the arguments.
func (p *Programs) job(c Config, program []string) trial.Job {
	j := trial.Job{Intrarun: p.Intrarun, Ranks: c.Ranks, Replicas: c.Replicas, Degrees: c.Degrees, Flags: c.Flags, Program: program}
	if len(p.Hosts) > 0 {
		j.Prefix = []string{"ip", "netns", "exec", p.Hosts[0]}
		j.Flags = slices.Concat([]string{"-rsh", "ip netns exec {host}", "-hosts", strings.Join(p.Hosts, ":1,") + ":1"}, c.Flags)
	}
	return j
}

// try runs a job and parses its output and its report.
func try(ctx context.Context, c Config, j trial.Job, parse func(out, report []byte) (Trial, error)) (Trial, error) {
	out, err := j.Run(ctx)
	if err != nil {
		return Trial{}, fmt.Errorf("%s: %w", c.Name, err)
	}
	t, err := parse(out.Stdout, out.Report)
	if err != nil {
		return Trial{}, fmt.Errorf("%s: %w", c.Name, err)
	}
	t.Config = c.Name
	if c.Lag > 0 {
		rep, err := parseReport(out.Report)
		if err != nil {
			return Trial{}, fmt.Errorf("%s: %w", c.Name, err)
		}
		k, err := kept(rep)
		if err != nil {
			return Trial{}, fmt.Errorf("%s: %w", c.Name, err)
		}
		t.Images, t.Sent = k.Images, k.Sent
	}
	return t, nil
}

// parseTrial parses the line that HPCCG prints with -json, and intrarun's report. clocks are
// the times of all processes.
func parseTrial(out, report []byte, clocks []clock) (Trial, error) {
	var line struct {
		Iterations int      `json:"iterations"`
		Residual   *float64 `json:"residual"`
		XSHA256    string   `json:"x_sha256"`
	}
	if err := trial.Decode("HPCCG printed", out, &line); err != nil {
		return Trial{}, err
	}
	if line.Residual == nil {
		return Trial{}, fmt.Errorf("%w: the residual is not a number after %d passes: fewer would do", trial.ErrOutput, line.Iterations)
	}
	rep, err := parseReport(report)
	if err != nil {
		return Trial{}, err
	}
	if len(clocks) != len(rep.Processes) {
		return Trial{}, fmt.Errorf("%w: the times of %d processes of %d", trial.ErrOutput, len(clocks), len(rep.Processes))
	}
	t := Trial{Passes: line.Iterations, Residual: *line.Residual, XSHA256: line.XSHA256, Samples: make(map[string]Sample), Tasks: taskSamples(rep)}
	var total Sample
	for _, c := range clocks {
		total.Seconds = max(total.Seconds, c[Total]) // the job ends with its last process
	}
	for _, k := range Kernels {
		s := Sample{Seconds: mean(clocks, k)}
		if s.Seconds <= 0 {
			return Trial{}, fmt.Errorf("%w: HPCCG spent %g seconds in %s", trial.ErrOutput, s.Seconds, k)
		}
		var decisions []string // decisions for the kernel, and for the kernel with an inner product
		for name, tt := range rep.TaskTypes {
			if task := name[strings.LastIndexByte(name, '.')+1:]; task == k || task == k+fusedSuffix {
				s.WaitSeconds += tt.WaitSeconds / float64(len(rep.Processes))
				s.UpdateBytes += tt.UpdateBytes
				decisions = append(decisions, tt.Decision)
			}
		}
		slices.Sort(decisions)
		s.Decision = strings.Join(slices.Compact(decisions), "+")
		total.WaitSeconds += s.WaitSeconds
		total.UpdateBytes += s.UpdateBytes
		t.Samples[k] = s
	}
	t.Samples[Total] = total
	summed := t.Samples["ddot"]
	summed.Seconds += mean(clocks, "allreduce")
	t.Samples[Summed] = summed
	return t, nil
}

func parseReport(report []byte) (trial.Report, error) {
	rep, err := trial.ParseReport(report)
	if err == nil && len(rep.Processes) == 0 {
		err = fmt.Errorf("%w: the report of intrarun names no process", trial.ErrOutput)
	}
	return rep, err
}
