// Package checkpoint handles the state that a program registers. It records which
// variables belong to the state, and reads them as chunks with a hash each. It finds the
// chunks that have changed since they were sent, and gives a restored process the saved
// contents. It also keeps such states in sets of files, with one file for each rank. The last two
// complete sets are kept.
//
// The package does not depend on how a state is sent, or when it is taken.
package checkpoint
