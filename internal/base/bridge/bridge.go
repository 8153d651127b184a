// Package bridge gives packages of this module access to functions that other
// packages do not export to programs. A package sets its functions when it is
// initialised. The packages that call them import it, so the functions are set
// before. Bridge imports nothing of this module: arguments and results are of type
// any, and the comments state their actual types.
package bridge

import "errors"

// World, set by package comm, returns the *comm.Comm of all ranks of the job of
// an *sdr.Engine. It is called once for each engine. If the engine began at a
// position, all communicators of that position exist again.
var World func(engine any) (any, error)

// Package intra sets Run, and package file calls it. Run returns the *engine.Program of an
// *intra.Process, nil for a nil one.
var Run func(process any) any

// Files, set by package file, returns the engine.Files of an *engine.Program. It is nil in
// a program that does not import that package.
var Files func(run any) any

// Receive, set by package intratest, returns an intratest.Option. It selects, as
// a job.Receive, how updates are received that do not lie whole in the memory of
// the process.
var Receive func(way int) any

// OutOfDate lists the generated files whose clauses are not those of their sources, in a
// build without the tag intra. Package runtime appends to it when the program starts.
var OutOfDate []string

// OutOfDateError says what to do about a generated file that is out of date.
func OutOfDateError(file string) error {
	return errors.New(file + " is out of date: run go generate")
}
