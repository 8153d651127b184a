// Package jobsocket lets the commands of a user ask an intrarun of the same user that
// runs on this host, or in this network namespace.
//
// An intrarun listens on a socket whose name holds its user and its process ID. The
// name is an abstract one of Linux: there is no file, so nothing is left behind by one
// that was killed. Since anybody may connect to such a socket, and listen on one, both
// ends look whose process the other one is, and a process whose name another user has
// taken adds something to it.
package jobsocket
