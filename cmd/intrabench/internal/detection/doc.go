// Package detection measures how long it takes until every survivor of a job
// has handled the loss of a process or of a host, and what it costs a job that
// loses nobody to watch for that.
package detection
