package intra

import (
	"github.com/intrahpc/intra/internal/replica/option"
	"github.com/intrahpc/intra/sched"
)

// SectionOption changes one section. The options are those of this package.
type SectionOption interface {
	Apply(section any) // Process.Section calls it
}

type policyOption sched.Policy

// Schedules of a section. The -sched flag of intrarun overrides them.
const (
	// Adaptive is the default: each replica runs its own block first, then helps with the blocks
	// of the other replicas.
	Adaptive = policyOption(sched.Adaptive)
	// Static gives each replica a block of the tasks, in launch order.
	Static = policyOption(sched.Static)
	// Replicate makes every replica run every task.
	Replicate = policyOption(sched.Replicate)
)

type keepOption bool

// Keep declares that no code outside of sections accesses what the tasks of the section
// write, except after [Fetch] or [Process.Settle]. So in a job with intrarun -lag the results
// may stay on the replica that has computed them, until a task or a message needs them.
// The section has the static schedule while its results are kept. Keep has no effect in other
// jobs, and in ranks that do not have two replicas.
const Keep = keepOption(true)

// Apply implements [SectionOption].
func (o keepOption) Apply(section any) { section.(*option.Section).Keep = bool(o) }

// Apply implements [SectionOption].
func (o policyOption) Apply(section any) { section.(*option.Section).Policy = sched.Policy(o) }
