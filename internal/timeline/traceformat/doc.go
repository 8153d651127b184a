// Package traceformat checks files against the rules of Chrome's trace event
// format, according to its public specification and the needs of viewers. Tests
// of timelines use it.
package traceformat
