// Package recoverybench measures recovery with HPCCG, in real processes. It measures how long
// a lost replica is missing, and the cost of its replacement for the other replicas. It
// measures the cost of backups and of checkpoint files. And it measures the efficiency that
// remains when processes die. Values that are compared are measured in turn, round by round.
package recoverybench
