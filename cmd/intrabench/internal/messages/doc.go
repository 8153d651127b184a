// Package messages measures messages and collective operations between the
// ranks of real jobs, without and with replicas: the launcher starts their
// processes anew in every round. It also measures what the protocol itself
// costs for a message, where no link and no waiting is around it.
package messages
