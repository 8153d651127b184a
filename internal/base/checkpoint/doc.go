// Package checkpoint knows the state that a program registers: which
// variables it is made of, how they are read as chunks with a hash each, which
// chunks have changed since they were sent, and how they are filled in again
// in a restored process. It also keeps such states in files: one for each
// rank, in sets of which the last two complete ones stay.
//
// It does not know how a state travels, or when it is taken.
package checkpoint
