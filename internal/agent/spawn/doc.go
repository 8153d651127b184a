// Package spawn prepares a job: it finds or builds the program, and starts an agent on each
// host.
//
// Agents are started along a Tree: the head starts the first agents, and these start the
// others. Each command gets a Bootstrap on its standard input. A Starter runs the commands of
// one process, and reports their events through a function; it does not depend on the work of
// agents. In an indexed job, as in Kubernetes, the cluster manager starts the process of each
// host.
package spawn
