// Package systemtest tests whole jobs: real processes of the examples and of a program
// made of steps. intrarun starts them on this machine, or on hosts that are network
// namespaces of it, and they are killed, stopped and cut off while they run. A job
// always ends with the bits of a job without failures, or says why it cannot, and
// leaves nothing behind.
//
// It has only tests, which take minutes and so have a build tag: make system
// runs them all, and
//
//	go test -tags system -run TestRollback ./internal/testkit/systemtest
//
// some of them. Those that need hosts need root, and are skipped without it.
// Tests that are driven by a seed print how to repeat them. make chaos,
// make weibull and make watch run single ones for longer.
package systemtest
