// Package output shows the user what the replicas of a job write, each line once.
//
// The replicas of a rank print the same lines. A Rank merges them: it writes
// whole lines, by line number, from the lowest live replica, so that another
// replica continues where a dead one was cut off. A Process is one replica's part
// of that, and keeps its crash text apart. The Console is the user's end, which
// the program's output shares with intrarun's own lines. Where a new head may
// have to write the output again, an agent keeps it in a ReplayBuffer until it
// has been written. Input is the other direction: one standard input for several
// processes.
package output
