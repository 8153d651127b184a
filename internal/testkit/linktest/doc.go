// Package linktest is the conformance suite of links: the requirements on every
// implementation of transport.Link. The tests of the packages inproc, shm and tcp run it.
package linktest
