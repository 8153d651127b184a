// Package floors holds the test that says which package may know which: imports
// go downwards only.
package floors
