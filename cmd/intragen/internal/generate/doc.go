// Package generate turns annotated Go packages into tasks, in passes. It loads the packages,
// checks their directives, plans the outputs, prints launchers for the kernels, rewrites the
// files with sections, and compares the results with the files on disk. If there is an error
// it writes nothing. It never writes a file that would not change. The output depends on the
// sources alone.
package generate
