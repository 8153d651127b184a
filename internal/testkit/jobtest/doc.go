// Package jobtest runs jobs of real processes in tests. It builds intrarun and the
// programs once per checkout, gives every job its own deadline, ends everything that a
// test has started, and checks that a job has left nothing behind. Program is a program
// whose tests only list the cases in which it prints the same bits.
//
// A job that is not over at its deadline fails its test with the reports of its
// processes: which of them waits for which, and the stacks of their goroutines. SIGQUIT
// requests these reports (see intra.Main), from all processes at once, while intrarun
// is stopped, so that it can neither react to their end nor hold back their output.
//
// A variable in the environment identifies the processes of a job. The processes that
// they start inherit it.
package jobtest
