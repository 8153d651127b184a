// Package watchdog cleans up after an intrarun, however it ends.
//
// A Watchdog is a process that briefly outlives the intrarun that started it. The kernel kills
// the children of intrarun with it. It does not kill processes that a wrapper script has
// started, and does not remove the folder of a program that was built for the run. The
// watchdog holds a pipe from intrarun, and does both when the pipe ends. If the host has a
// lease, the watchdog stops the processes while the lease is over.
package watchdog
