// Package spawn prepares a job: it finds or builds the program, and starts an
// agent on each host.
//
// Agents are started along a Tree: the head starts the first ones, and those
// start the others, each with a command that gets a Bootstrap on its standard
// input. A Starter runs the commands of one of them, and reports what happens to
// them through a function; it does not depend on what agents do. The hosts of an
// indexed job, as in Kubernetes, are started by the cluster manager.
package spawn
