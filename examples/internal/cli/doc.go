// Package cli is what the command lines of the examples have in common: flags,
// and a result that is printed for people or as one line of JSON.
package cli
