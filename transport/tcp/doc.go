// Package tcp makes a link of connected stream sockets: TCP between hosts, or a Unix socket
// within one. A link made by New ends with its connection. A link made by NewReconnecting
// outlives its connections: it replaces a broken one and sends the frames again that had
// not arrived.
package tcp
