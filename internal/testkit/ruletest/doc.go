// Package ruletest shows that the tests of a protocol notice each of its rules: it
// takes one after the other out of the source, by go build -overlay, and runs a
// simulation with what is left, which has to fail. It is for tests of this module.
//
// INTRA_RULES=REGEXP chooses the rules by FILE: NAME. Without it only the tables
// are looked through: the text of each rule has to stand once where its table says.
package ruletest
