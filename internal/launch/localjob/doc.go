// Package localjob runs a whole job in one process: each replica of each rank
// is a goroutine with an engine of its own, and links to the others. The head is
// that of every job (internal/head); here is what drives it where processes are
// goroutines: nobody else keeps what is decided, and what they write is no output.
package localjob
