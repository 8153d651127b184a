// Package affinity assigns processor cores to the processes of a host. Each
// process gets an equal share of neighbouring cores: then no two processes
// compete for a core, least of all the replicas of a rank, and each one's memory
// is near. Where processes have to share cores, they record on which processor
// each one runs (Board), and processes that take turns move to where fewer are
// (Slot).
package affinity
