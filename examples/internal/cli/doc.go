// Package cli is the common part of the examples' command lines: flags, and a result that
// is printed as text for people or as one line of JSON.
package cli
