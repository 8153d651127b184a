// Package vary answers how many digits of a result mean something: a program runs
// undisturbed, and again with a disturbance of the last bits, and at each safe point
// its registered variables are compared with those of the undisturbed run.
//
// A Recorder is the part of it in each process: it disturbs, and writes what it sees to
// files. Judge makes of these what the report says, and has neither clock nor I/O.
package vary
