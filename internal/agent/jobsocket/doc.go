// Package jobsocket lets the commands of a user query an intrarun of the same user, on this
// host or in this network namespace.
//
// An intrarun listens on a socket whose name contains its user and its process ID. The name is
// an abstract one of Linux, not a file, so a killed intrarun leaves nothing behind. Any user
// may connect to such a socket, or listen on one, so both ends check the user of the other. If
// another user has taken the name, the intrarun adds a suffix.
package jobsocket
