//go:build system

package attack

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// corruption adds comparisons and errors to a job: processes of one rank, or of several,
// compute or send wrong data, or have it in memory.
func (p *plan) corruption(d dice) {
	modes := []string{"dual", "dual", "dual,state", "state", "sample=40%", "sample=10%", "sample=40%,state"}
	mode := one(d, modes)
	degrees := []int{2, 2, 3}
	if mode[:2] == "sa" && mode[len(mode)-1] == '%' && d.once(4) { // the other modes need two replicas
		degrees = []int{1, 2, 2}
	}
	p.shape(d, one(d, []int{1, 2, 2, 2, 3}), degrees)
	p.recovery(d)
	c := &corruption{dual: mode[0] == 'd', samples: mode[:2] == "sa", state: mode[len(mode)-1] == 'e', apart: p.apart()}
	p.corrupt = c
	p.flag("-sdc", mode, "-seed", fmt.Sprint(1+d.IntN(1000)))
	for _, rank := range d.Perm(len(p.degrees))[:1+d.IntN(min(2, len(p.degrees)))] {
		wrong := job.Process{Rank: rank, Replica: d.IntN(p.degrees[rank])}
		var kinds []string
		if c.dual || c.samples {
			kinds = append(kinds, "task", "task", "defect", "defect", "defect")
		}
		if c.state {
			kinds = append(kinds, "state", "state")
		}
		if len(p.degrees) > 1 {
			kinds = append(kinds, "message")
		}
		switch kind := one(d, kinds); kind {
		case "defect":
			p.flag("-fault", fmt.Sprintf("defect:%v,q=%s", wrong, one(d, []string{"0.3", "0.05", "0.01", "0.001"})))
		case "task":
			p.flag("-fault", fmt.Sprintf("flip:%v@task:%d", wrong, d.IntN(4*p.app.sections)))
		case "state":
			p.flag("-fault", fmt.Sprintf("flip:%v@state:%d", wrong, d.IntN(p.app.points)))
		case "message":
			p.flag("-fault", fmt.Sprintf("flip:%v@message:%d", wrong, d.IntN(p.app.messages)))
		}
	}
	if d.once(2) {
		p.choose(d)
	}
	if d.once(4) {
		p.outside(d)
	}
}

// apart reports whether the replicas of a rank do not store into each other's memory, by
// the rules of cmd/intrarun.
func (p *plan) apart() bool {
	link := slices.Index(p.flags, "-link")
	return slices.Contains(p.flags, "-direct=off") || slices.Contains(p.flags, "-limit") || link >= 0 && p.flags[link+1] == "tcp"
}
