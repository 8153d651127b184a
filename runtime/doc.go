// Package runtime holds the calls that only generated code makes: the place of a
// section in the source, rewritten files that are out of date, blocks of rows and
// columns, tasks that may run in parts, and operators that reduce slices. Programs
// import package intra, at the root of the module.
package runtime
