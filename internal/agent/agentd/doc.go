// Package agentd is the process that intrarun starts on each host: an agent.
//
// It connects to the head, and has a supervise.Agent do what the head says of the
// processes of its host. It holds the lease of the host, and with it is a node of
// the arbiter. Where the job survives its head, it follows the next one: it keeps
// what it has told a head in a log for each process, and repeats it. If it is
// elected itself, it hands a Lead to the Takeover that it was given, which is
// the head from then on.
package agentd
