// Package launch is what intrarun does: it drives the head of a job, which decides
// (package head), and does for it all that takes a clock, a goroutine or I/O.
//
// The driver is one goroutine that owns the head; everything else (agents, the
// arbiter, signals) posts events to it and never waits for it. It carries out what
// the head wants, and comes back when a time has passed (driver.go). Config is one
// run, as the command line says; Job is the part of it that travels to a head
// which takes the place of this one. The rest is in packages of its own:
//
//	spawn      finds the program, and starts an agent on each host
//	agentd     is the process of an agent
//	supervise  starts, watches and ends the processes of a host
//	agentwire  is how head and agents talk
//	watchdog   clears away after an intrarun, however it ends
//	output     brings to the user what replicas write, each line once
//	livepage   is the page on which a job can be watched
//	runreport  is the report, the timeline and the progress line
//
// The driver knows its agents by the interface agent. A job on one host has a
// supervise.Agent in the same process. On several hosts that runs in an agentd
// there, and the driver has a remote, which commands it over one connection; an
// arbiter beside each says when such a host is lost (hosts.go).
//
// Agents are started along a tree: the head starts the first 32, and they the
// others, with the same command and with the secret on its standard input. Nothing
// else goes along it: every agent has a connection of its own to the head, since a
// relay would take the hosts below it along when it is lost. With 64 hosts that
// costs the head 25 MB of memory and, for 1280 beats a second each way of about 90
// bytes, 4 % of a core.
//
// On three or more hosts what the head decides is kept on two others before it has
// an effect (proposals.go); elsewhere it counts at once. When the head is lost all
// agents turn to the one of them that the arbiter elects, say what they have, tell
// it all that they had told the one before, and write the output again that was not
// out. It makes a head of that and of what was decided (takeover.go, successor.go).
package launch
