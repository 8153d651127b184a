// Package messages measures messages and collective operations between the ranks of real jobs,
// without and with replicas. In every round it starts new processes. It also measures the cost
// of the protocol itself for a message, without any link and without waiting.
package messages
