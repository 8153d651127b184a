// Package watchdog clears away what an intrarun leaves behind, however it ends.
//
// A Watchdog is a process that outlives the one that started it, by a moment.
// The kernel kills the children of intrarun with it, but not what a wrapper
// script has started, nor does it remove the folder of a program built for the
// run. The watchdog holds a pipe from intrarun, and does both when the pipe ends.
// Where the host has a lease, it stops the processes while that is over.
package watchdog
