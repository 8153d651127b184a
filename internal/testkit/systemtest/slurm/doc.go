// Package slurm tests intrarun in allocations of Slurm, whose four nodes are on this
// machine: it starts the daemons itself, as root. See package systemtest for how to
// run it.
package slurm
