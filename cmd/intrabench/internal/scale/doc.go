// Package scale measures what a job costs as its processes become more: the start,
// the memory, the links, what they do while they have nothing to do, and messages.
package scale
