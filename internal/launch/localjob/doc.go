// Package localjob runs a whole job in one process. Each replica of each rank is a goroutine
// with its own engine and links to the others. The head is the same as in every job
// (internal/head), and this package drives it. Decisions are not replicated, and output is not
// merged.
package localjob
