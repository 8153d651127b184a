// Package arena is memory that the replicas of a rank on one host share. Each
// has an area for its big arrays, which the others can write, and words and
// places that say who may and where. What all have in common are words by which
// they agree.
//
// An area belongs to one life of a replica: to the process in one incarnation.
// Whoever takes its place, and the same process after the job has gone back, has
// another one, so that nobody takes what is of an earlier life for something of
// this one.
//
// The arrays are memory of Go's, which the garbage collector frees as any other:
// pages of the area lie over it as long as it is used.
package arena
