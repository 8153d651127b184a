// Package intratest is what the tests of a program import: it runs jobs of
// several ranks and replicas inside the test's process, kills replicas at
// chosen points, and says what happened.
package intratest
