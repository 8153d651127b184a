// Package listen contains what all listeners of this module need: a loopback address that
// works on every host, an accept loop that survives a lack of descriptors, and the
// identity of the user at the other end of a local connection.
package listen
