package head

import (
	"fmt"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// joinedWorld handles the report that a process is in MPI_COMM_WORLD, or cannot join it.
func (h *Head) joinedWorld(m *member, w *job.World) {
	if w.Error != "" {
		h.refuse(fmt.Sprintf("%s cannot use MPI: %s", m.name(), w.Error))
		return
	}
	m.world = w
	h.ready(m)
}

// mpiSummary describes the MPI library that the links use, nil if they use none.
func (h *Head) mpiSummary() *runreport.MPI {
	if !h.config.Setup.MPI {
		return nil
	}
	s := &runreport.MPI{Outside: []runreport.Outsider{}}
	for _, m := range h.all {
		switch {
		case m.world != nil:
			s.Library, s.File, s.ThreadLevel = m.world.Library, m.world.File, m.world.Level
		case !m.native && m.incarnation > firstIncarnation && m.hello != nil:
			s.Outside = append(s.Outside, runreport.Outsider{Process: m.process, Incarnation: m.incarnation})
		}
	}
	return s
}
