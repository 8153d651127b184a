// Command intragen turns annotated Go kernels into tasks.
//
// Usage:
//
//	go tool intragen [-check] [-diff] [-v] [packages]
//
// For every file of the packages (default: the one in the current folder) that
// holds //intra: directives it writes a file beside it: f_intra.go for f.go,
// f_intra_test.go for f_test.go. For a file with kernels (//intra:task) that
// holds a registration and a launcher per kernel, for one with state types
// (//intra:state) a method Protect per type; for a file with sections
// (//intra:section) it is the file's twin for builds with the tag intra, in
// which the calls of kernels are launches. Usually it is run by go generate,
// with one line per package:
//
//	//go:generate go tool intragen
//
// The directives are checked first: what is wrong with them or with what the
// kernels do is printed to standard error as file:line:col: text, and nothing
// is written. With -check nothing is written either, and the outputs that are
// stale, missing or orphaned are listed; -diff prints what would change.
//
// Exit codes: 0 done; 1 something is wrong or not up to date; 2 usage.
package main
