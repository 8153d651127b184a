// Command intragen turns annotated Go kernels into tasks.
//
// Usage:
//
//	go tool intragen [-check] [-diff] [-v] [packages]
//
// For every file of the packages (default: the one in the current folder) that contains
// //intra: directives, it writes a file beside it: f_intra.go for f.go, f_intra_test.go for
// f_test.go. For a file with kernels (//intra:task) that file contains a registration and a
// launcher per kernel, for one with state types (//intra:state) a method Protect per type.
// For a file with sections (//intra:section) it is the file's twin for builds with the tag
// intra, in which the calls of kernels are launches. Usually go generate runs it, with one
// line per package:
//
//	//go:generate go tool intragen
//
// It checks the directives first. If they are wrong, or do not fit what the kernels do, it
// prints the errors to standard error as file:line:col: text, and writes nothing. With
// -check it writes nothing either, and lists the outputs that are stale, missing or
// orphaned. With -diff it prints what would change.
//
// Exit codes: 0 done; 1 errors, or outputs that are not up to date; 2 usage.
package main
