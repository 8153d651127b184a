// Package hosts tests intrarun on several simulated hosts, which are network namespaces.
// Its tests cover how jobs start and end, and how they continue when processes, hosts,
// links and the head are lost. The programs are made of steps, so that each test controls
// what its processes do. See package systemtest for how to run them.
package hosts
