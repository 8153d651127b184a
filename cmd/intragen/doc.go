// Command intragen turns annotated Go kernels into tasks.
//
// Usage:
//
//	go tool intragen [-check] [-diff] [-v] [packages]
//
// For every file of the packages (default: the package in the current folder) that contains
// //intra: directives, it writes a file beside it: f_intra.go for f.go, f_intra_test.go for
// f_test.go. The content of that file depends on the directives:
//
//   - For kernels (//intra:task) it contains a registration and a launcher for each kernel.
//   - For state types (//intra:state) it contains a method Protect for each type.
//   - For sections (//intra:section) it is the file's twin for builds with the tag intra, in
//     which the calls of kernels are launches.
//
// Usually go generate runs intragen, with one line for each package:
//
//	//go:generate go tool intragen
//
// intragen first checks the directives. If they are wrong, or do not agree with the kernels,
// it prints the errors to standard error as file:line:col: text, and writes nothing. With
// -check it also writes nothing, and lists the outputs that are stale, missing or orphaned.
// With -diff it prints the changes that it would make.
//
// Exit codes: 0 done; 1 errors, or outputs that are not up to date; 2 usage.
package main
