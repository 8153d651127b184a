// Package programs tests what users build and run: the proxies of applications and the
// NAS Parallel Benchmarks as real processes, on every kind of link and with deaths
// (make matrix: every combination), the platforms that they build for, and the commands
// as a user installs them. See package systemtest for how to run the tests.
package programs
