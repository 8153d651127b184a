// Package spawn gets a job ready to start: it finds or builds the program, and
// starts an agent on each host.
//
// Agents are started along a Tree: the head starts the first ones, and they the
// others, each with a command that gets a Bootstrap on its standard input. A
// Starter runs the commands of one of them, and tells by a function what becomes
// of them; it knows nothing of what agents do. The hosts of an indexed job, as
// Kubernetes has them, come by themselves.
package spawn
