// Package bridge gives packages of this module access to functions that other packages do
// not export to programs. A package sets its functions when it is initialized. The
// packages that call them import it, so the functions are set in time. Bridge imports no
// package of this module. So arguments and results have type any, and the comments state
// their actual types.
package bridge

import "errors"

// World, set by package comm, returns the *comm.Comm of all ranks of the job of
// an *sdr.Engine. It is called once for each engine. If the engine began at a
// position, all communicators of that position exist again.
var World func(engine any) (any, error)

// Run, set by package intra and called by package file, returns the *engine.Program of an
// *intra.Process, nil for a nil *intra.Process.
var Run func(process any) any

// Section, also set by package intra, returns where the open section of an *intra.Process was
// opened, "" if none is open.
var Section func(process any) string

// Files, set by package file, returns the engine.Files of an *engine.Program. It is nil if
// the program does not import package file.
var Files func(run any) any

// Receive, set by package intratest, returns an intratest.Option. way is a job.Receive. It
// selects how updates are received that the link does not hold completely in memory.
var Receive func(way int) any

// OutOfDate lists generated files whose clauses differ from those of their sources, in a
// build without the tag intra. Package runtime appends to it when the program starts.
var OutOfDate []string

// OutOfDateError returns the error for a generated file that is out of date.
func OutOfDateError(file string) error {
	return errors.New(file + " is out of date: run go generate")
}
