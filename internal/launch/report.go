package launch

import "github.com/intrahpc/intra/internal/runreport"

// report is all that there is to say of the job at its end.
func (h *head) report(code int) *runreport.Report {
	r := &runreport.Report{
		ExitCode: code, Error: h.ledger.text, Ranks: len(h.ledger.degrees), Degrees: h.ledger.degrees,
		Link:      h.config.Link,
		Limit:     h.config.Limit,
		Threads:   max(h.config.Threads, 1),
		Direct:    h.direct,
		Joined:    h.joined,
		Failures:  append([]runreport.Failure{}, h.failures...),
		Kills:     []runreport.Kill{},
		Weibull:   h.injected,
		Processes: []runreport.Process{},
		TaskTypes: make(map[string]runreport.TaskType),
	}
	if !h.joined.IsZero() {
		r.WallSeconds = h.finished.Sub(h.joined).Seconds()
	}
	r.Recovery = h.recovery.report()
	r.Checkpoint, r.Restart = h.files.reports()
	for _, k := range h.kills {
		r.Kills = append(r.Kills, runreport.Kill{Process: k.Process, When: k.When(), Fired: k.fired})
	}
	for _, m := range h.order {
		if m.pid == 0 || m.spare { // it could not be started, or had nothing to do
			continue
		}
		p := runreport.Process{Process: m.process, Incarnation: m.incarnation, Host: m.hostName(), PID: m.pid, End: m.end}
		if m.exit != nil {
			p.Status = m.exit.Text
		}
		if m.hello != nil {
			r.IntraTag = m.hello.Tag
		}
		r.Add(p, m.stats)
	}
	return r
}
