// Package runtime contains the functions that only generated code calls. They set the place
// of a section in the source, detect rewritten files that are out of date, make regions of
// blocks of rows and columns, let tasks run in parts, and define operators that reduce
// slices. Programs import package intra, at the root of the module.
package runtime
