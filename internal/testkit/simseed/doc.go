// Package simseed runs simulations whose schedule follows from a number, the seed. It is for tests
// of this module. INTRA_SOAK=N tries the seeds 0 to N-1 instead of the usual number. INTRA_SEED=S
// tries only S. Both together try N seeds, beginning with S.
package simseed
