// Package generate turns annotated Go packages into tasks, in passes: load the packages,
// check their directives, plan the outputs, print launchers for the kernels, rewrite the
// files with sections, and compare the result with the files on disk. It writes nothing if
// there is an error, and no file that would not change. The output depends on the sources
// alone.
package generate
