// Package checked finds wrong clauses and forgotten state. In a job in checked
// mode every replica runs every task of a section itself, at its end, and one of
// them in several ways, which must make no difference (Section); then the replicas
// compare what the tasks have read and written. At some safe points the program
// is restored on trial (Trial).
package checked
