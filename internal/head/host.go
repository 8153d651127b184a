package head

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/runreport"
)

// hosts explains losses of hosts. It records the observations that preceded each loss.
type hosts struct {
	*desk
	suspicions map[detect.ID]time.Duration // when a node was last suspected
	endings    map[detect.ID]string        // why the connection to its agent has ended
}

// suspected records that a host may be lost.
func (o *hosts) suspected(e Suspected) {
	o.suspicions[e.Node] = o.elapsed()
	o.detailf("host %s may be lost: %s", o.hostName(e.Node), o.Sightings(e.Testimonies))
}

// why returns why a host is lost.
func (o *hosts) why(node detect.ID) string {
	all := o.state.Lost[node].Testimonies
	why := fmt.Sprintf("host %s has not been heard from for %.1f s (%s)", o.hostName(node), last(all).Age.Seconds(), o.Sightings(all))
	if end := o.endings[node]; end != "" {
		why += ", after its connection ended: " + end
	}
	return why
}

// evidence returns the observations on which the loss of a host rests, for the report.
func (o *hosts) evidence(node detect.ID) *runreport.Evidence {
	loss := o.state.Lost[node]
	freshest := last(loss.Testimonies)
	e := &runreport.Evidence{Connection: o.endings[node], LastSeenBy: o.nodeName(freshest.Observer),
		Declared: loss.At.Seconds(), Suspected: o.suspicions[node].Seconds(), LastSeen: (loss.At - freshest.Age).Seconds()}
	for _, t := range loss.Testimonies {
		e.Observers = append(e.Observers, runreport.Observation{Observer: o.nodeName(t.Observer), Silent: t.Age.Seconds(), Limit: t.Limit.Seconds()})
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
