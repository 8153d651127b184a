// Package bridge is the way from package runtime, which generated code calls, to what
// package intra does not export. Package intra sets the functions when it is initialised;
// package runtime imports intra, so they are set before generated code runs.
package bridge

import "github.com/intrahpc/intra/internal/reduce"

var (
	// At returns an intra.SectionOption that gives a section its place in the source of
	// the user, as file:line.
	At func(position string) any
	// Results returns the partial results of a section, an *intra.Section.
	Results func(section any) *reduce.Results
)
