// Intravary estimates the significant digits of a program's results. It runs a command several
// times. In all runs except the first it disturbs the last bits of numbers, the order of sums,
// or the timing of processes. It then compares the registered variables at each safe point,
// and the printed lines.
//
//	intravary [flags] COMMAND [args]
//
// COMMAND is intrarun with its flags and a program, or a program of one rank. Exit codes: that
// of the first run that failed; 1 also if nothing could be compared; 2 for a wrong command
// line; 130 and 143 after SIGINT and SIGTERM.
package main
