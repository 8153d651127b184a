// Package generate turns annotated Go packages into tasks, in passes: load the
// packages, check their directives, plan the outputs, print launchers for the
// kernels and rewrite the files with sections, and compare the result with
// what is on disk. Nothing is written when anything is wrong, nothing is
// written that would not change, and the output depends on the sources alone.
package generate
