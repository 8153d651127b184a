// Package watchdog cleans up what an intrarun leaves behind, however it ends.
//
// A Watchdog is a process that outlives the one that started it for a moment. The
// kernel kills the children of intrarun with it, but not what a wrapper script
// has started, and it does not remove the folder of a program built for the run.
// The watchdog holds a pipe from intrarun, and does both when the pipe ends. If
// the host has a lease, the watchdog stops the processes while the lease is over.
package watchdog
