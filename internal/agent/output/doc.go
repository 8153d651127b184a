// Package output shows the user the output of the replicas of a job, each line once.
//
// The replicas of a rank print the same lines, and a Rank merges them. It writes whole lines,
// by line number, from the lowest live replica. So another replica continues where a dead one
// was cut off. A Process is the output of one replica, and separates its crash text. The
// Console is the user's end, which the program's output shares with intrarun's own lines. A
// Carrier takes that output to another process instead, piece by piece.
//
// If a new head may have to write output again, the agent keeps that output in a ReplayBuffer
// until it has been written. Input is the other direction: one standard input for several
// processes.
package output
