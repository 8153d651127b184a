// Package results defines the files that intrabench -json writes: a measurement with its
// place, time and command. A test of this package makes docs/results.md, and tables in
// README.md and other documents, from such files in docs/results.
package results
