// Package affinity says which processor cores each process of a host gets: equal
// shares of neighbouring cores, so that no two processes compete for one, the
// replicas of a rank least of all, and that their memory is near. Where they have to share
// cores, the processes tell each other on which one each runs (Board), and those that take
// turns move to where fewer are (Slot).
package affinity
