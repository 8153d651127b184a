// Package launch implements intrarun: it drives the head of a job, which decides
// (package head), and does for it all that needs a clock, a goroutine or I/O.
//
// The driver is one goroutine that owns the head. Everything else (agents, the
// arbiter, signals) posts events to it and never waits for it. The driver carries
// out the head's actions, and calls it again when a deadline has passed
// (driver.go). Config is one run as given on the command line; Job is the part of
// it that a successor of the head gets. The rest is in packages of its own:
//
//	spawn      finds the program, and starts an agent on each host
//	agentd     runs an agent
//	supervise  starts, watches and ends the processes of a host
//	agentwire  carries frames between head and agents
//	watchdog   cleans up after an intrarun, however it ends
//	output     shows the user what replicas write, each line once
//	livepage   serves the page on which a job can be watched
//	runreport  makes the report, the timeline and the progress line
//
// The driver sees its agents through the interface agent. A job on one host has a
// supervise.Agent in the same process. On several hosts that runs in an agentd
// there, and the driver has a remote that commands it over one connection. An
// arbiter beside each agent decides when its host is lost (hosts.go).
//
// Agents are started along a tree: the head starts the first 32, and those start
// the others, with the same command and with the secret on its standard input.
// Nothing else uses the tree: every agent has its own connection to the head,
// since the loss of a relay would cut off the hosts below it. With 64 hosts that
// costs the head 25 MB of memory and, for 1280 beats a second each way of about
// 90 bytes, 4 % of a core.
//
// On three or more hosts the head's decisions are replicated on two others before
// they take effect (proposals.go); otherwise they take effect at once. When the
// head is lost the arbiter elects one of the agents, and all agents connect to
// it. They report their state, repeat all that they had sent to the lost head,
// and send the output again that had not been written. The elected agent makes a
// head from that and from the decisions (takeover.go, successor.go).
package launch
