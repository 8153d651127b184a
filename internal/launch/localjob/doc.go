// Package localjob runs a whole job in one process: each replica of each rank is
// a goroutine with its own engine and links to the others. The head is the same
// as in every job (internal/head). This package drives it where processes are
// goroutines: decisions are not replicated, and output is not merged.
package localjob
