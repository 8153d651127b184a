// Package lease is the right to act for a limited time: the clock by which
// leases run, how much longer than a lease others must wait before they may
// count on its end, and the word by which an agent tells its processes until
// when they may act on the outside world.
package lease
