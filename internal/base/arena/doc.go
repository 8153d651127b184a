// Package arena provides memory that the replicas of a rank on one host share. Each
// replica has an area for its large arrays, into which the other replicas can write. The area also
// has words and places, which record which replica may write where. Further words, shared by all
// replicas, hold their agreements.
//
// An area belongs to one life of a replica: a process in one incarnation. A replacement
// has another area, and so has the same process after a rollback. So no replica mistakes
// data of an earlier life for data of the current one.
//
// The arrays are memory of the Go heap, which the garbage collector frees like any other.
// While they are in use, pages of the area are mapped over them.
package arena
