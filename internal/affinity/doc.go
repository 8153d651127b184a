// Package affinity says which processor cores each process of a host gets: equal
// shares of neighbouring cores, so that no two processes compete for one, the
// replicas of a rank least of all, and that their memory is near.
package affinity
