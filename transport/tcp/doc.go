// Package tcp makes a link of a connected stream socket: TCP between hosts,
// or a Unix socket within one.
package tcp
