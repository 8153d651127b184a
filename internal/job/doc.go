// Package job says what a job is: its ranks and their degrees, the names of
// its processes, the hosts and which process goes where, the points at which a
// process may be killed on purpose, the secured connections and the handshake
// by which a process joins, and the control messages between the head and the
// processes. It is the vocabulary that launch (the head's side)
// and runtime (the process's side) have in common.
package job
