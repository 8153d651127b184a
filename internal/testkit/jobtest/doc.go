// Package jobtest runs jobs of real processes in tests. It builds intrarun and the
// programs once per checkout, and gives every job its own deadline. It ends all processes
// that a test has started, and checks that a job has left no processes or files behind.
// Program is a program that must print the same bits in all cases; its tests only list the
// cases.
//
// A job that is not over at its deadline fails its test with the reports of its processes:
// which of them waits for which, and the stacks of their goroutines. SIGQUIT requests
// these reports (see intra.Main) from all processes at once. intrarun is stopped
// meanwhile, so that it can neither react to the end of a process nor hold back its
// output.
//
// A variable in the environment identifies the processes of a job. The processes that they
// start inherit it.
package jobtest
