// Package arena is memory that the replicas of a rank on one host share: an
// area for the big arrays of each, which the others can write, and words that
// say who may. What an array is to one replica lies at the same place of the
// area of every other, if all allocate the same in the same order.
package arena
