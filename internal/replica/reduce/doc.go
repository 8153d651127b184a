// Package reduce holds the partial results of the tasks of a section. Each task writes
// into memory of its own. When the section ends, the partial results are folded into
// their variables in launch order. So the bits do not depend on which replica ran which
// task, or when.
package reduce
