// Package hostfiles runs jobs on hosts with a file system of their own in front of a
// folder that they share, over FUSE. A host that is lost takes with it what was written
// there since the last fsync. The files are those of a run without failures.
package hostfiles
