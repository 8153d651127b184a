// Package checked finds wrong clauses and unregistered state. In checked mode every
// replica runs every task of a section itself, at its end. One replica runs the task in
// several ways, which must make no difference (Section). Then the replicas compare what
// the tasks have read and written. At some safe points the program is restored on trial
// (Trial).
package checked
