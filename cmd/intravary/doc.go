// Intravary estimates the significant digits of a program's results: it runs a command
// several times, all but the first with the last bits of numbers, the order of sums or the
// timing of processes disturbed, and compares the registered variables at each safe point
// and the lines that are printed.
//
//	intravary [flags] COMMAND [args]
//
// COMMAND is intrarun with its flags and a program, or a program of one rank. Exit codes:
// that of the first run that failed; 1 also if nothing could be compared; 2 for a wrong
// command line, and 130 and 143 after SIGINT and SIGTERM.
package main
