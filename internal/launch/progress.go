package launch

import (
	"fmt"
	"time"
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
			h.post(func() { h.console.SetProgress(h.progressLine()) })
		}
	}
}

func (h *head) progressLine() string {
	alive := 0
	var sections, tasks int64
	for _, m := range h.order {
		if !m.gone && !m.spare {
			alive++
		}
		sections = max(sections, m.stats.Sections)
		tasks += m.stats.TasksRun
	}
	since := h.joined
	if since.IsZero() {
		since = h.began
	}
	return fmt.Sprintf("%v  %d/%d processes  %d sections  %d tasks",
		time.Since(since).Truncate(100*time.Millisecond), alive, len(h.members), sections, tasks)
}
