// Package job defines a job: its ranks and their degrees, the names of its processes,
// the hosts and which process goes where, the points at which a process may be killed
// on purpose, the secured connections and the handshake by which a process joins, and
// the control messages between the head and the processes. It is the vocabulary that
// the head's side (launch) and the process's side (engine) have in common.
package job
