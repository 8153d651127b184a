// Package detection measures how long it takes until every survivor of a job has handled
// the loss of a process or of a host. It also measures the cost of that detection in a job
// without losses.
package detection
