// Package notice measures what it costs that hosts leave and join a job while it runs, on two
// hosts. A process with much state moves from one to the other and back: how long the program
// stands still, and how long a notice is needed, beside what the link between the hosts
// allows. And a host joins a job of one replica: how soon the two replicas are as fast as two
// that were there from the start.
package notice
