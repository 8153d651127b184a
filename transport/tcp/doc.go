// Package tcp makes a link of connected stream sockets: TCP between hosts, or
// a Unix socket within one. A link made by New ends with its connection. One
// made by NewReconnecting outlives its connections: when one breaks it is replaced,
// and what had not arrived is sent again.
package tcp
