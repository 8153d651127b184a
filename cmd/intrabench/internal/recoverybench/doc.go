// Package recoverybench measures recovery with HPCCG as real processes: how long a
// lost replica is away and what its return costs the others, what backups and
// checkpoint files cost, and what is left of the efficiency when processes die.
// Everything that is compared runs in turn, round by round.
package recoverybench
