// Package launch runs a job: it starts the processes, watches them, declares
// them dead, tells the survivors, forwards their output, and says how it all
// ended.
//
// The head is one goroutine that owns the state of the job; everything else
// (agents, the timers, the signals) posts to it and never waits for it. What
// the head decides is in ledger, which has no clock and no I/O; what it does
// about lost processes is in package recovery, and carried out in recovery.go.
//
// Processes are the business of agents, one for each host. An agent holds what
// the kernel gives for a process, so that it sees its death at once: it is its
// parent, reads its pipes and its control connection, and makes its links
// within the host. A job on one host has an agent in the head's process
// (local). On several hosts the same agent runs in a process of its own there
// (server), which the head commands over one connection (remote); an arbiter
// beside each says when such a host is lost (hosts.go, lease.go).
//
// Agents are started along a tree (tree.go, branch.go): the head starts the first
// 32, and they the others, with the same command and with the secret on its
// standard input. Nothing else goes along it: every agent has a connection of
// its own to the head, since a relay would take the hosts below it along when it
// is lost. With 64 hosts that costs the head 25 MB of memory and, for 1280 beats a
// second each way of about 90 bytes, 4 % of a core.
//
// On three or more hosts the head acts only on what is kept on two of them
// (record.go). When it is lost all agents turn to the one of them that the
// arbiter elects (heir.go), tell it all that they had told the one before, and
// write the output again that was not out (seat.go, tape.go). It makes a head of
// that and of what was decided (standin.go), about cuts and checkpoint files too
// (notes.go); who takes the place of whom is not among that (succession.go).
package launch
