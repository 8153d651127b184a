// Package scale measures how the costs of a job grow with the number of its processes: the
// start, the memory, the links, the processor time of idle processes, and messages.
package scale
