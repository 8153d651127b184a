// Package shm links two processes of one host through shared memory. A link is a memory
// segment without a name, which both processes inherit, with one byte ring per direction.
// Sending and receiving need no system call while the receiver is awake. The links of one
// process sleep together (Sleeper).
package shm
