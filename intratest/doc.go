// Package intratest is for the tests of a program: it runs jobs of several ranks and
// replicas inside the test's process, kills replicas at chosen points, and reports the
// events.
package intratest
