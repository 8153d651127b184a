// Package arena is memory that the replicas of a rank on one host share. Each
// replica has an area for its big arrays, into which the others can write, with
// words and places that record which replica may write where. All replicas share
// further words, through which they agree.
//
// An area belongs to one life of a replica: to a process in one incarnation. A
// replacement has another area, and so has the same process after a rollback. So
// no replica takes something of an earlier life for something of the current one.
//
// The arrays are memory of the Go heap, which the garbage collector frees as any
// other: pages of the area are mapped over it while it is in use.
package arena
