// Package simseed runs simulations, whose every schedule follows from a number.
// It is for tests of this module. INTRA_SOAK=N tries the seeds 0 to N-1
// instead of as many as the test does by itself, INTRA_SEED=S only S, and both
// of them N seeds from S on.
package simseed
