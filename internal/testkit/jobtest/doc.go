// Package jobtest runs jobs of real processes in tests: it builds intrarun and
// the programs once per checkout, gives every job a deadline of its own, ends
// whatever a test has started, and looks for what a job has left behind. Program is a
// program of which tests only list the cases in which it prints the same bits.
//
// A job that is not over at its deadline fails its test with what its processes
// say of themselves: who waits for whom, and the stacks of their goroutines. They
// are asked by SIGQUIT (see intra.Main), all at the same moment, while intrarun is
// stopped: it can neither react to their end nor hold back what they say.
//
// The processes of a job are found by a variable in their environment, which what
// they start inherits.
package jobtest
