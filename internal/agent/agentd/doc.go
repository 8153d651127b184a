// Package agentd is the process that intrarun starts on each host: an agent.
//
// The agent connects to the head, and its supervise.Agent executes the head's
// orders for the processes of its host. It holds the lease of the host, and so is
// a node of the arbiter. If the job survives its head, the agent follows the next
// head: it keeps what it has sent to a head in a log for each process, and
// repeats it. If the agent is elected itself, it passes a Lead to its Takeover
// function, which acts as the head from then on.
package agentd
