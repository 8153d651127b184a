// Package clauses tests programs with random kernels, clauses and patterns of messages. A
// right clause is accepted, and the results are those of the plain program, whichever
// replicas die. A wrong clause is refused, ends the job with exit code 4, or is found by
// checked mode.
package clauses
