// Package vary estimates how many digits of a result are significant. A program runs
// undisturbed, and again with disturbances of the last bits. At each safe point its
// registered variables are compared with those of the undisturbed run.
//
// Each process has a Recorder, which disturbs the process and writes its observations to
// files. Judge computes the report from these files, without clock or I/O.
package vary
