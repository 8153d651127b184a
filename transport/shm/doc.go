// Package shm links two processes of one host through shared memory: one byte
// ring per direction, in a segment without a name that both inherit. Sending and
// receiving need no system call while the receiver is awake. The links of a
// process sleep together (Sleeper).
package shm
