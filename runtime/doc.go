// Package runtime contains the functions that only generated code calls. They set the
// position of a section in the source, detect rewritten files that are out of date, and
// make regions of blocks of rows and columns. They also let tasks run in parts, and define
// operators that reduce slices. Programs import package intra, at the root of the module.
package runtime
