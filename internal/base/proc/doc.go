// Package proc watches and signals processes of this host by their numbers, which
// may be gone by then.
package proc
