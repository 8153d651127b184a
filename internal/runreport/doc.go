// Package runreport is what intrarun says of a run: the report of its end, the
// timeline of its tasks, and the line that shows how far it is.
//
// It knows nothing of how a job is run: the launcher fills in what it holds.
package runreport
