// Package sysmon prevents the monitor thread of the Go runtime from interrupting
// computation in processes that have only one core.
package sysmon
