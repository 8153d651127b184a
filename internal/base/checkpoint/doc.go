// Package checkpoint handles the state that a program registers: which variables
// it consists of, how they are read as chunks with a hash each, which chunks have
// changed since they were sent, and how a restored process gets their contents
// back. It also keeps such states in files: one for each rank, in sets, of which
// the last two complete ones are kept.
//
// It does not depend on how a state is sent, or when it is taken.
package checkpoint
