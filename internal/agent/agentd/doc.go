// Package agentd is the process that intrarun starts on each host: an agent.
//
// The agent connects to the head, and its supervise.Agent executes the head's orders for the
// processes of its host. It holds the lease of the host, and so is a node of the arbiter.
//
// If the job survives its head, the agent follows the next head. It logs for each process the
// messages that it has sent to a head, and repeats them to the next one. If the agent is
// elected itself, it passes a Lead to its Takeover function, which acts as the head from then
// on.
package agentd
