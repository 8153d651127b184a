//go:build linux

package main

import (
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/transport/limit"
)

var replicaFlags = []row{
	{name: "n", group: replicas, common: true, arg: "N", initial: "1",
		does: "Run N logical ranks.",
		set:  number(func(o *options) *int { return &o.ranks }, 1, maxProcesses, "ranks")},
	{name: "r", group: replicas, common: true, arg: "R", initial: "2",
		does: "Run R replicas of each rank. With MIN..MAX, like 1..2, begin with as many as the hosts have slots for, and add others when hosts join; this sets -replace, too.",
		set:  parseReplicas},
	{name: "degrees", group: replicas, arg: "LIST",
		does:     "Run this number of replicas of each rank, a number for each rank, like 2,1,2. It also sets -n. A number may be a range, like 1..3,1,2, as for -r.",
		set:      parseDegrees,
		excludes: []clash{{with: "r", why: "both set the number of replicas"}}},
	{name: "threads", group: replicas, arg: "N", initial: "1",
		does: "Run the tasks of each process on N workers. With -check there is one.",
		set:  number(func(o *options) *int { return &o.Threads }, 1, maxThreads, "workers of each process")},
	{name: "bind", group: replicas, arg: "HOW", initial: string(affinity.Auto),
		does: "Bind the processes of a host to its cores. auto: each to its own share, if there are enough cores; core: also if processes share cores, but replicas of one rank never do; none.",
		set:  parsed(affinity.ParseMode, func(o *options, m affinity.Mode) { o.Bind = m })},
	{name: "stdin", group: replicas, arg: "WHOM", initial: "0",
		does: "Pass standard input to the replicas of rank 0 (0) or to no process (none). With none a loop in a shell script around intrarun keeps its input.",
		set: func(o *options, text string) error {
			switch text {
			case "0":
				o.Stdin = os.Stdin
			case "none":
				o.Stdin = nil
			default:
				return errors.New("want 0 or none")
			}
			return nil
		}},
}

// maxThreads is the number of cores of the largest usual hosts.
const maxThreads = 512

// onHosts is the condition of flags for jobs on several hosts.
var onHosts = []need{{any: []string{hostList}, why: "it is for jobs on several hosts"}}

var hostFlags = []row{
	{name: "hosts", group: hosts, common: true, arg: "LIST",
		does:     "Run on these hosts, each with a number of slots, like h1:2,h2:2 or n[01-04]:2. localhost is this one.",
		set:      text(func(o *options) *string { return &o.hosts }),
		excludes: []clash{{with: "hostfile", why: "both list the hosts"}}},
	{name: "hostfile", group: hosts, arg: "FILE",
		does: "Run on the hosts in FILE, one on each line, like h1 slots=2 rack=a addr=10.0.0.1.",
		set:  text(func(o *options) *string { return &o.hostfile })},
	{name: "dry-run", group: hosts,
		does:  "Show where the processes would run, and exit.",
		set:   toggle(func(o *options) *bool { return &o.DryRun }),
		needs: onHosts},
	{name: "oversubscribe", group: hosts,
		does:  "Allow more processes on a host than it has slots.",
		set:   toggle(func(o *options) *bool { return &o.oversubscribe }),
		needs: onHosts},
	{name: "strict-placement", group: hosts,
		does:  "Refuse to run replicas of a rank on one host.",
		set:   toggle(func(o *options) *bool { return &o.strict }),
		needs: onHosts},
	{name: "rsh", group: hosts, arg: "COMMAND",
		does:  "Start commands on another host by COMMAND, in which {host} stands for the host (default: ssh {host}, in a Slurm allocation srun).",
		set:   text(func(o *options) *string { return &o.RemoteShell }),
		needs: onHosts},
	{name: "fanout", group: hosts, arg: "N", initial: strconv.Itoa(spawn.DefaultFanout),
		does:  "Start agents on N hosts from here. With more hosts each of those starts N others, and so on.",
		set:   number(func(o *options) *int { return &o.Fanout }, 1, maxProcesses, "hosts"),
		needs: onHosts},
	{name: "head", group: hosts, arg: "ADDRESS",
		does:  "Have the other hosts connect to this address (default: any address of this host).",
		set:   text(func(o *options) *string { return &o.HeadAddress }),
		needs: onHosts},
	{name: "tls", group: hosts,
		does:     "Encrypt the connections between hosts.",
		set:      toggle(func(o *options) *bool { return &o.TLS }),
		needs:    onHosts,
		excludes: []clash{{with: "mpi", why: "-tls does not encrypt what goes over MPI"}}},
	{name: "mpi", group: hosts,
		does: "Send messages over the MPI library of mpirun, mpiexec or srun, which has to start intrarun once for each process of the job. PROGRAM is built with the tags intra and mpi. Within a host messages go over -link.",
		set:  toggle(func(o *options) *bool { return &o.Links.MPI })},
	{name: "alone", group: hosts,
		does: "Ignore the variables of mpirun, mpiexec and srun in the environment, which a shell under srun --pty inherits. -alone=false: they have started intrarun several times, so wait for the others (default: decide by the processes of this host).",
		set: func(o *options, text string) error {
			o.alone = new(bool)
			return toggle(func(o *options) *bool { return o.alone })(o, text)
		}},
}

var linkFlags = []row{
	{name: "link", group: links, arg: "KIND", initial: job.LinkAuto,
		does: "Connect processes of one host by shm, unix or tcp. auto is shm. mpi: by the library of -mpi, too; a process that dies may block its shared memory, and then the job ends.",
		set: func(o *options, text string) error {
			err := one(func(o *options) *string { return &o.Links.Kind }, job.LinkAuto, job.LinkSHM, job.LinkUnix, job.LinkTCP, job.LinkMPI)(o, text)
			if o.Links.Kind == job.LinkAuto {
				o.Links.Kind = job.LinkSHM
			}
			return err
		}},
	{name: "ring", group: links, arg: "SIZE", initial: "4M",
		does: "Give each shared-memory ring SIZE bytes, 4K to 1G, rounded up to a power of two.",
		set: func(o *options, text string) (err error) {
			o.Links.Ring, err = parseSize(text, minRing, maxRing, "4K to 1G")
			return err
		}},
	{name: "limit", group: links, arg: "BANDWIDTH",
		does: "Let each link carry no more than BANDWIDTH in each direction, like 2.5GB/s: a slow network on one host.",
		set:  parsed(limit.ParseRate, func(o *options, r limit.Rate) { o.Links.Limit = float64(r) })},
	{name: "sched", group: links, arg: "SCHEDULE",
		does: "Give every section this schedule: static, adaptive or replicate (default: what the program asks for).",
		set:  one(func(o *options) *string { return &o.Sched }, "static", "adaptive", "replicate")},
	{name: "lag", group: links, arg: "DURATION", initial: "0", off: []string{"0"},
		does: "Let the results of sections with keep stay on the replica that has computed them, until a task or a message needs them, in ranks with two replicas. If a replica dies, the other one may have to run the program again from a safe point that is about DURATION old. 0: send all results at once.",
		set: func(o *options, text string) (err error) {
			if o.Lag = 0; text != "0" {
				o.Lag, err = parseTime(text, leastLag, "0 or like 1s")
			}
			return err
		},
		excludes: []clash{
			{with: "sdc", why: "only one replica has a result that is kept"},
			{with: "check", why: "checked mode compares what each replica computes itself"},
			{with: "diverge", why: "only one replica has a result that is kept"},
			{with: "fault=again", why: "it uses the settled points of -lag"},
		}},
	{name: "direct", group: links, arg: "WHEN", optional: true, initial: string(job.DirectAuto),
		does: "Let replicas on one host store results into each other's arrays (made by intra.Alloc) instead of sending them. auto: where that takes less time; on, or no argument: wherever they can; off.",
		set:  parsed(job.ParseDirect, func(o *options, d job.Direct) { o.Direct = d }),
		excludes: []clash{
			{with: "check", when: directOn, why: "checked mode compares what each replica computes itself"},
			{with: "limit", when: directOn, why: "stores bypass the links"},
			{with: "sched=static", when: directOn, why: "stores need the adaptive schedule"},
			{with: "sched=replicate", when: directOn, why: "stores need the adaptive schedule"},
			{with: "link=mpi", when: directOn, why: "stores bypass the MPI library"},
			{with: "clone", when: directOn, why: "all replicas would wait at each section for the slow one"},
			{with: "link=tcp", when: directOn, why: "stores need shared memory"},
		}},
}

// leastLag is the shortest age of an image that -lag accepts, other than 0.
const leastLag = time.Millisecond

// directOn are the arguments of -direct that request stores.
var directOn = []string{string(job.DirectOn), bare}

// A ring consists of whole pages, which gives the minimum. A host holds two rings for each
// pair of its processes, which limits the maximum.
const minRing, maxRing = 4 << 10, 1 << 30

var outputFlags = []row{
	{name: "report", group: output, common: true, arg: "FILE",
		does: "Write a JSON report to FILE at the end, or to standard error if FILE is -.",
		set:  text(func(o *options) *string { return &o.Report })},
	{name: "v", group: output, common: true,
		does: "Print events as they happen.",
		set:  toggle(func(o *options) *bool { return &o.Verbose })},
	{name: "quiet", group: output,
		does:     "Print only what the program prints, and errors.",
		set:      toggle(func(o *options) *bool { return &o.Quiet }),
		excludes: []clash{{with: "v", why: "they have opposite effects"}}},
	{name: "status-every", group: output, arg: "DURATION",
		does: "Print what each process does every DURATION, like 30s, on standard error.",
		set: func(o *options, text string) (err error) {
			o.Status, err = parseTime(text, leastStatus, "like 30s")
			return err
		}},
	{name: "http", group: output, arg: "ADDR",
		does: "Serve a live page at ADDR, with /metrics for Prometheus and /status.json. :8080 is for users of this host; other addresses need a token.",
		set:  text(func(o *options) *string { return &o.page })},
	{name: "http-token", group: output, arg: "TOKEN",
		does:  "Ask visitors of the page for TOKEN, or for the contents of a file with @FILE, which ps does not show (default: " + tokenVariable + " in the environment; else one is made and printed for addresses that need one).",
		set:   text(func(o *options) *string { return &o.token }),
		needs: []need{{any: []string{"http"}, why: "it protects that page"}}},
	{name: "trace", group: output, arg: "FILE",
		does: "Write a timeline to FILE in Chrome's trace format, which ui.perfetto.dev opens.",
		set:  text(func(o *options) *string { return &o.Trace })},
	{name: "trace-limit", group: output, arg: "SIZE", initial: "256M",
		does: "Write a timeline of at most SIZE bytes, like 64M, without the oldest events.",
		set: func(o *options, text string) error {
			n, err := parseSize(text, timeline.LeastLimit, 1<<40, "at least 1M")
			o.TraceLimit = int64(n)
			return err
		},
		needs: []need{{any: []string{"trace"}, why: "it bounds the size of that file"}}},
	{name: "version", group: output,
		does: "Print the version of intrarun, and exit.",
		set:  toggle(func(*options) *bool { return new(bool) })},
}
