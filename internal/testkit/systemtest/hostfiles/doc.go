// Package hostfiles runs jobs on hosts that share a folder. Each host accesses it through
// a FUSE file system of its own. When a host is lost, data that it wrote since the last
// fsync is lost, too. The files must be those of a run without failures.
// The file system can also have a quota, which a write or an fsync exceeds.
package hostfiles
