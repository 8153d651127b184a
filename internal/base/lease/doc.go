// Package lease implements the right to act for a limited time: the clock of
// leases, how long other hosts must wait until a lease has certainly ended, and
// the word through which an agent tells its processes until when they may act on
// the outside world.
package lease
