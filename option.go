package intra

import (
	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/sched"
)

// SectionOption changes one section.
type SectionOption interface {
	apply(s *Section)
}

type policyOption sched.Policy

// Schedules of a section. The -sched flag of intrarun overrides them.
const (
	// Adaptive is the default: each replica runs its own block first, then helps the
	// others.
	Adaptive = policyOption(sched.Adaptive)
	// Static gives each replica a block of the tasks, in launch order.
	Static = policyOption(sched.Static)
	// Replicate makes every replica run every task.
	Replicate = policyOption(sched.Replicate)
)

func (o policyOption) apply(s *Section) { s.shared.Policy = sched.Policy(o) }

// posOption is the place of a section in the source that the user wrote, as
// folder/file:line. Generated code passes it.
type posOption string

func (o posOption) apply(s *Section) { s.at, s.known = callsite.At(string(o)), true }
