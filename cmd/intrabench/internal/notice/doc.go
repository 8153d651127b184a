// Package notice measures how hosts that leave or join affect a running job, on two hosts.
// First a process with much state moves from one host to the other and back. The package
// measures how long the program stands still and how long a notice is needed, beside what the
// link between the hosts allows. Then a host joins a job of one replica. The package measures
// how soon the two replicas are as fast as two that were there from the start.
package notice
