// Package job defines a job: its ranks and their degrees, the names of its processes, the
// hosts and the placement of processes on them, and the points at which a process may be
// killed on purpose. It also has the secured connections, the handshake by which a process
// joins, and the control messages between the head and the processes. The launcher's side
// (launch) and the process's side (engine) share it.
package job
