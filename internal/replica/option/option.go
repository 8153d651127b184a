// Package option holds the options of a section. Package intra takes them from programs,
// and package runtime from generated code.
package option

import (
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// Section holds the settings of a section. SectionOptions change them.
type Section struct {
	Policy sched.Policy
	Keep   bool   // results stay where they were computed, if the job keeps results
	At     string // place in the user's source; empty: unknown
	Watch  []update.Region
}

// At sets the place of a section in the user's source, as folder/file:line.
type At string

// Apply implements intra.SectionOption, whose signature must not name a type of this
// package.
func (o At) Apply(section any) { section.(*Section).At = string(o) }
