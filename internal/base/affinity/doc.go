// Package affinity assigns processor cores to the processes of a host. Each process gets
// an equal share of neighbouring cores. So no two processes compete for a core, in
// particular no two replicas of a rank, and the memory of each process is near its cores.
// If processes have to share cores, they record on which processor each one runs (Board).
// Processes that yield to each other then move to processors with fewer processes (Slot).
package affinity
