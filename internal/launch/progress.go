package launch

import (
	"time"

	"github.com/intrahpc/intra/internal/runreport"
)

// progressEvery is how often the progress line changes.
const progressEvery = 250 * time.Millisecond

// showProgress keeps a line on the terminal up to date until the job ends.
func (h *head) showProgress() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-h.done:
			return
		case <-tick.C:
			h.post(func() { h.console.SetProgress(h.progress().String()) })
		}
	}
}

// progress is how far the job is now.
func (h *head) progress() runreport.Progress {
	p := runreport.Progress{Processes: len(h.members)}
	for _, m := range h.order {
		if !m.gone && !m.spare {
			p.Alive++
		}
		p.Sections = max(p.Sections, m.stats.Sections)
		p.Tasks += m.stats.TasksRun
	}
	since := h.joined
	if since.IsZero() {
		since = h.began
	}
	p.Elapsed = time.Since(since)
	return p
}
