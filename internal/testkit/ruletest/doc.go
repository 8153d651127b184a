// Package ruletest shows that the tests of a protocol notice each of its rules. It
// removes one rule after the other from the source, by go build -overlay, and runs a
// simulation of the rest, which has to fail. It is for tests of this module.
//
// INTRA_RULES=REGEXP chooses the rules by FILE: NAME. Without it only the tables are
// checked: the text of each rule has to occur once in the file that its table names.
package ruletest
