package head

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// suspected records that a host may be lost.
func (h *Head) suspected(e Suspected) {
	h.suspicions[e.Node] = h.elapsed()
	h.detailf("host %s may be lost: %s", h.hostName(e.Node), h.Sightings(e.Testimonies))
}

// why returns why a host is lost.
func (h *Head) why(node detect.ID) string {
	all := h.state.Lost[node].Testimonies
	why := fmt.Sprintf("host %s has not been heard from for %.1f s (%s)", h.hostName(node), last(all).Age.Seconds(), h.Sightings(all))
	if end := h.endings[node]; end != "" {
		why += ", after its connection ended: " + end
	}
	return why
}

// explain sets the text of a verdict that rests on the loss of a host.
func (h *Head) explain(v decision.Verdict) decision.Verdict {
	if m := h.holder(v.Process, v.Incarnation); v.Cause == job.CauseHost && m != nil {
		if _, lost := h.state.Lost[m.from.Node]; lost {
			v.Detail = h.why(m.from.Node)
		}
	}
	return v
}

// evidence returns, for the report, the observations on which the loss of a host rests.
func (h *Head) evidence(node detect.ID) *runreport.Evidence {
	loss := h.state.Lost[node]
	freshest := last(loss.Testimonies)
	e := &runreport.Evidence{Connection: h.endings[node], LastHeardBy: h.nodeName(freshest.Observer),
		Declared: loss.At.Seconds(), Suspected: h.suspicions[node].Seconds(), LastHeard: (loss.At - freshest.Age).Seconds()}
	for _, t := range loss.Testimonies {
		e.Observers = append(e.Observers, runreport.Observation{Observer: h.nodeName(t.Observer), Silent: t.Age.Seconds(), Limit: t.Limit.Seconds()})
	}
	return e
}

// last returns the testimony of the observer with the most recent round trip to the host.
func last(all []detect.Testimony) detect.Testimony {
	if len(all) == 0 {
		return detect.Testimony{}
	}
	return slices.MinFunc(all, func(a, b detect.Testimony) int { return int(a.Age - b.Age) })
}

// Sightings returns the observers of a host and how long each has heard nothing from it.
func (h *Head) Sightings(all []detect.Testimony) string {
	var s []string
	for _, t := range all {
		s = append(s, fmt.Sprintf("%.2f s by %s", t.Age.Seconds(), h.nodeName(t.Observer)))
	}
	return strings.Join(s, ", ")
}

func (h *Head) hostName(id detect.ID) string {
	if n := h.config.node(id); n != nil {
		return n.Name
	}
	return h.config.FirstHost
}

// nodeName names an observer.
func (h *Head) nodeName(id detect.ID) string {
	switch id {
	case h.config.Self:
		return "the head"
	case FirstHead:
		return "the first head"
	}
	return h.hostName(id)
}
