// Package systemtest tests whole jobs: real processes of the examples and of a program
// made of steps. intrarun starts them on this machine, or on simulated hosts, which are
// network namespaces. They are killed, stopped and disconnected while they run. A job
// always ends with the bits of a job without failures, or reports why it cannot. It leaves
// no process or file behind.
//
// The package has only tests. They take minutes, so they have a build tag. make system
// runs them all, and
//
//	go test -tags system -run TestRollback ./internal/testkit/systemtest
//
// runs some of them. Tests that need simulated hosts need root, and are skipped without
// it. Tests that depend on a seed print how to repeat them. make chaos, make weibull and
// make watch run single tests for longer.
package systemtest
