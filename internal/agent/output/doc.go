// Package output brings what the replicas of a job write to the user, each line
// once.
//
// The replicas of a rank print the same lines. A Rank merges them: it shows
// whole lines, by line number, from the lowest replica that lives, so that
// another one continues where a dead one was cut off. A Process is one replica's
// part in that, with what it says when it crashes kept apart. The Console is the
// user's end, which the program's output shares with intrarun's own lines. Where
// a successor of the head may have to show the output again, an agent keeps it
// in a ReplayBuffer until it is out. Input is the other direction: one standard
// input for several processes.
package output
