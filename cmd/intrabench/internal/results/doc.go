// Package results is the form of the files that intrabench -json writes: what was measured, and
// where, when and by which command. Its test makes docs/results.md and the table of results in
// README.md from such files in docs/results.
package results
