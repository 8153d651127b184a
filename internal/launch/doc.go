// Package launch runs a job: it starts the processes, watches them, declares
// them dead, tells the survivors, forwards their output, and says how it all
// ended.
//
// The head is one goroutine that owns the state of the job; everything else
// (the agent that starts and watches the processes of this host, the control
// connections, the timers, the signals) posts to it and never waits for it.
// What the head decides is in ledger, which has no clock and no I/O.
package launch
