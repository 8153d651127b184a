// Package option holds the options of a section, which package intra takes from programs, and
// package runtime from generated code.
package option

import (
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// Section holds the settings of a section. SectionOptions change them.
type Section struct {
	Policy sched.Policy
	At     string // its place in the user's source; empty: not known
	Watch  []update.Region
}

// At sets the place of a section in the user's source, as folder/file:line.
type At string

// Apply implements intra.SectionOption, which shows no type of this package.
func (o At) Apply(section any) { section.(*Section).At = string(o) }
