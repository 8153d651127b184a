// Package clauses tests programs whose kernels and clauses are random: a right clause is
// accepted, and its results are those of the plain program; a wrong one is refused, ends the job
// with exit code 4, or is found by checked mode.
package clauses
