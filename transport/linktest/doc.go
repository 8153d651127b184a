// Package linktest is the conformance suite of links: what every
// implementation of transport.Link has to do, whatever moves its bytes. The
// tests of the packages inproc, shm and tcp run it.
package linktest
