// Package proc watches and signals processes of this host by their numbers. The
// processes may have ended already.
package proc
