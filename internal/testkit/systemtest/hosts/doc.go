// Package hosts tests intrarun on several hosts, which are network namespaces: how jobs
// start, end, and continue when processes, hosts, links and the head are lost. Their
// programs are made of steps, so that the tests determine what each process does
// meanwhile. See package systemtest for how to run them.
package hosts
