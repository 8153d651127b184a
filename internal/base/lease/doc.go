// Package lease implements the right to act on the outside world for a limited time. It
// provides the clock of leases, and computes how long other hosts must wait until a lease has
// certainly ended. An agent publishes the end of its processes' lease in a word of shared
// memory, a Word.
package lease
