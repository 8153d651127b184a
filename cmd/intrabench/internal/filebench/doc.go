// Package filebench measures how fast two ranks write one file with package file, beside two
// plain processes that write it with os.File. Every way makes the same file under the same
// fsync policy.
package filebench
