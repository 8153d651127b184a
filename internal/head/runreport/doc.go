// Package runreport holds what intrarun says about a run: the report at its end, the
// timeline of its tasks, and the line that shows its progress.
//
// It knows nothing of how a job is run: the launcher fills in what it holds.
package runreport
