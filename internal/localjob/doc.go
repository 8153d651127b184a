// Package localjob runs a whole job in one process: each replica of each rank
// is a goroutine with an engine of its own, and links to the others. It has a
// head of its own (head.go) in place of intrarun.
package localjob
