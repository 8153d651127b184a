// Package programs tests programs as users build and run them. The proxies of applications
// and the NAS Parallel Benchmarks run as real processes, on every kind of link and with
// deaths (make matrix: every combination). Other tests cover the platforms for which
// programs are built, and the installation of the commands. See package systemtest for how
// to run the tests.
package programs
