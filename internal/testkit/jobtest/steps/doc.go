// Package steps is a program for tests of intrarun that performs the steps in its
// arguments: it joins the job, prints, waits, dies, finishes. A test binary contains this
// program: its TestMain calls Main, and Program returns the command for intrarun.
//
//	intrarun -r 2 TESTBINARY program: join 0.1@kill:9 out:x finish
//
// A step is NAME, NAME:ARGUMENT, or either of them after RANK.REPLICA@, RANK@ for all
// replicas of the rank, or !RANK.REPLICA@ for all but one process.
package steps
