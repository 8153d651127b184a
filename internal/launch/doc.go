// Package launch is the head: it has processes started and watched, declares them
// dead, tells the survivors, and says how it all ended.
//
// The head is one goroutine that owns the state of the job; everything else
// (agents, the timers, the signals) posts to it and never waits for it. What
// the head decides is in ledger, which has no clock and no I/O; what it does
// about lost processes is in package recovery, and carried out in recovery.go.
// What does not depend on how a head decides is in packages of its own:
//
//	spawn      finds the program, and starts an agent on each host
//	agentd     is the process of an agent
//	supervise  starts, watches and ends the processes of a host
//	agentwire  is how head and agents talk
//	watchdog   clears away after an intrarun, however it ends
//	output     brings to the user what replicas write, each line once
//	runreport  is the report, the timeline and the progress line
//
// The head knows its agents by the interface agent. A job on one host has a
// supervise.Agent in the head's process. On several hosts the same runs in an
// agentd there, and the head has a remote, which commands it over one connection;
// an arbiter beside each says when such a host is lost (hosts.go).
//
// Agents are started along a tree: the head starts the first 32, and they the
// others, with the same command and with the secret on its standard input. Nothing
// else goes along it: every agent has a connection of its own to the head, since a
// relay would take the hosts below it along when it is lost. With 64 hosts that
// costs the head 25 MB of memory and, for 1280 beats a second each way of about 90
// bytes, 4 % of a core.
//
// On three or more hosts the head acts only on what is kept on two of them
// (record.go). When it is lost all agents turn to the one of them that the
// arbiter elects, tell it all that they had told the one before, and write the
// output again that was not out. It makes a head of that and of what was decided
// (takeover.go, standin.go), about cuts and checkpoint files too (notes.go); who
// takes the place of whom is not among that (succession.go).
package launch
