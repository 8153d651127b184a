// Package reduce holds the partial results of the tasks of a section: each task writes
// into memory of its own, and when the section ends the partial results are folded into
// their variables in launch order, so that the bits do not depend on which replica ran
// which task, or when.
package reduce
