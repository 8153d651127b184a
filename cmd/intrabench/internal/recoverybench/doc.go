// Package recoverybench measures recovery with HPCCG as real processes: how long a lost
// replica is away and what its return costs the others, what backups and checkpoint files
// cost, and how much efficiency remains when processes die. Values that are compared are
// measured in turn, round by round.
package recoverybench
