// Package runreport defines intrarun's reports about a run: the report at its end, its status,
// and the line that shows its progress.
//
// It does not depend on how a job is run: the launcher fills in the values.
package runreport
