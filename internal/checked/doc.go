// Package checked finds wrong clauses and unregistered state. In checked mode every
// replica runs every task of a section itself, at the end of the section. One replica runs
// the task in several ways, which must not change the results (Section). Then the replicas
// compare the inputs and results of the tasks. At some safe points the program is restored
// on trial (Trial).
package checked
