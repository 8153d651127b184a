package livepage

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// The metrics. A test checks that docs/see.md lists them.
var (
	processes   = metric("processes", "Live processes, by their activity.", "state")
	places      = metric("places", "Processes that the job should have.")
	elapsed     = metric("elapsed_seconds", "Time since all processes had joined.")
	efficiency  = metric("efficiency_ratio", "E: efficiency of the processes so far.")
	savedShare  = metric("saved_ratio", "Share of time that sharing has saved, relative to the time that the processes would have needed alone.")
	progress    = metric("progress_ratio", "Share of its steps that the program has reported as done.")
	deaths      = metric("deaths_total", "Processes that were declared dead, by cause.", "cause")
	returns     = metric("replacements_total", "Processes that replaced dead ones.")
	rollbacks   = metric("rollbacks_total", "Rollbacks to a backup.")
	joined      = metric("hosts_joined_total", "Hosts that joined the running job.")
	drains      = metric("drains", "Hosts and processes that were to leave on notice, by whether they have.", "state")
	replicas    = metric("replicas", "Live replicas, by rank.", "rank")
	sections    = metric("sections_total", "Sections completed, of all processes.")
	tasksRun    = metric("tasks_run_total", "Bodies of tasks run.")
	tasksGot    = metric("tasks_received_total", "Results of tasks received from a peer.")
	tasksRerun  = metric("tasks_rerun_total", "Tasks run in place of a dead peer.")
	sentBytes   = metric("update_bytes_total", "Payload of updates sent, by process.", "rank", "replica")
	kernelRun   = metric("kernel_tasks_run_total", "Bodies run, by kernel.", "kernel")
	kernelTime  = metric("kernel_seconds_total", "Time spent in bodies, by kernel.", "kernel")
	kernelWait  = metric("kernel_wait_seconds_total", "Time spent waiting for updates, by kernel.", "kernel")
	kernelSaved = metric("kernel_saved_seconds", "Time that sharing has saved each process, by kernel.", "kernel")
	kernelE     = metric("kernel_efficiency_ratio", "Efficiency of the replicas in sections of a kernel.", "kernel")
	kernelShare = metric("kernel_shared", "1 if sections of the kernel are shared, 0 if each replica runs all tasks.", "kernel")
)

func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("intra_"+name, help, labels, nil)
}

// collector passes the last known state of a job to Prometheus.
type collector struct{ *Server }

// Describe implements prometheus.Collector.
func (c *collector) Describe(all chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{processes, places, elapsed, efficiency, savedShare, progress, deaths, returns, rollbacks, joined, drains, replicas, sections,
		tasksRun, tasksGot, tasksRerun, sentBytes, kernelRun, kernelTime, kernelWait, kernelSaved, kernelE, kernelShare} {
		all <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(all chan<- prometheus.Metric) {
	c.mu.Lock()
	frame, status, r := c.model.Frame, c.status, c.report
	c.mu.Unlock()
	if r == nil {
		return
	}
	send := func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
		all <- prometheus.MustNewConstMetric(d, t, v, labels...)
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	states := make(map[string]int)
	for i := range status.Processes {
		if p := &status.Processes[i]; !p.Spare {
			states[p.State]++
		}
	}
	for state, n := range states {
		send(processes, gauge, float64(n), state)
	}
	send(places, gauge, float64(len(job.Processes(status.Degrees))))
	send(elapsed, gauge, status.Elapsed)
	send(efficiency, gauge, status.E)
	send(savedShare, gauge, status.Saved)
	if o := status.Outlook; o.Total > 0 {
		send(progress, gauge, float64(o.Done)/float64(o.Total))
	}
	causes := make(map[job.Cause]int)
	for _, f := range r.Failures {
		causes[f.Cause]++
	}
	for cause, n := range causes {
		send(deaths, counter, float64(n), string(cause))
	}
	send(returns, counter, float64(frame.Replaced))
	send(rollbacks, counter, float64(frame.Rollbacks))
	send(joined, counter, float64(len(r.Joins)))
	left := 0
	for i := range r.Drains {
		if r.Drains[i].Seconds > 0 {
			left++
		}
	}
	send(drains, gauge, float64(len(r.Drains)-left), "leaving")
	send(drains, gauge, float64(left), "left")
	for rank, n := range status.Replicas {
		send(replicas, gauge, float64(n), strconv.Itoa(rank))
	}
	send(sections, counter, float64(r.Sections))
	send(tasksRun, counter, float64(r.TasksRun))
	send(tasksGot, counter, float64(r.TasksReceived))
	send(tasksRerun, counter, float64(r.TasksRerun))
	sent := make(map[job.Process]int64)
	for i := range r.Processes {
		sent[r.Processes[i].Process] += r.Processes[i].UpdateBytes
	}
	for p, n := range sent {
		send(sentBytes, counter, float64(n), strconv.Itoa(p.Rank), strconv.Itoa(p.Replica))
	}
	for name, k := range r.TaskTypes {
		collectKernel(send, name, k)
	}
}

func collectKernel(send func(*prometheus.Desc, prometheus.ValueType, float64, ...string), name string, k runreport.TaskType) {
	send(kernelRun, prometheus.CounterValue, float64(k.Run), name)
	send(kernelTime, prometheus.CounterValue, k.Seconds, name)
	send(kernelWait, prometheus.CounterValue, k.WaitSeconds, name)
	shared := 0.0
	if k.Decision == "share" {
		shared = 1
	}
	send(kernelShare, prometheus.GaugeValue, shared, name)
	if k.Sharers > 0 {
		send(kernelSaved, prometheus.GaugeValue, k.Saved, name)
		send(kernelE, prometheus.GaugeValue, k.E, name)
	}
}
