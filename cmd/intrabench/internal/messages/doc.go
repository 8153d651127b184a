// Package messages measures messages and collective operations between the ranks of real
// jobs, without and with replicas. The launcher starts new processes in every round. The
// package also measures the cost of the protocol itself for a message, without any link and
// without waiting.
package messages
