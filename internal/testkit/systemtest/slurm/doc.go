// Package slurm tests intrarun in allocations of Slurm with four nodes on this machine.
// It starts the daemons itself, as root. See package systemtest for how to run it.
package slurm
