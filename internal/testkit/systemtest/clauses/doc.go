// Package clauses tests programs with random kernels and clauses. A right clause is
// accepted, and its results are those of the plain program. A wrong one is refused,
// ends the job with exit code 4, or is found by checked mode.
package clauses
