// Package lease implements the right to act on the outside world for a limited time. It
// has the clock of leases, and the time that other hosts must wait until a lease has
// certainly ended. It also has the word of memory in which an agent publishes until when
// its processes may act.
package lease
