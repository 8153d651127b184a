// Package traceformat checks files against the rules of the trace event format of
// Chrome, as its public specification gives them and viewers need them. Tests of
// timelines use it.
package traceformat
