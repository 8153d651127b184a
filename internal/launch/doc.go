// Package launch implements intrarun. Package head decides for a job; this package drives the
// head, and does everything for it that needs a clock, a goroutine or I/O.
//
// The driver is one goroutine that owns the head. All other goroutines (agents, the arbiter,
// signals) post events to it and never wait for it. The driver carries out the head's actions,
// and calls the head again when a deadline has passed (driver.go). Config is one run as given
// on the command line. Job is the part of it that a successor of the head gets. Other packages
// do the rest:
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
// The driver uses its agents through the interface agent. A job on one host has a
// supervise.Agent in the same process. On several hosts that runs in an agentd there, and the
// driver has a remote that commands it over one connection. An arbiter beside each agent
// decides when its host is lost (hosts.go).
//
// Agents are started along a tree: the head starts the first 32, and these start the others,
// with the same command and with the secret on its standard input. Nothing else uses the tree.
// Every agent has its own connection to the head, since the loss of a relay would cut off the
// hosts below it. With 64 hosts, these connections cost the head 25 MB of memory. The 1280
// beats a second in each direction, of about 90 bytes, cost it 4 % of a core.
//
// On three or more hosts the head's decisions are replicated on two others before they take
// effect (proposals.go). On fewer hosts they take effect at once. When the head is lost, the
// arbiter elects one of the agents, and all agents connect to it. They report their state,
// repeat their messages to the lost head, and send the output again that was not written. The
// elected agent makes a head from these and from the decisions (takeover.go, successor.go).
//
// A head whose host leaves hands over to such an agent. The intrarun that the user started then
// stays as a relay, until the job ends or its host does: the next heads send it the output, which
// it writes, and it sends them signals and questions (relay.go, carrier.go).
package launch
