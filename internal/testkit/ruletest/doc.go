// Package ruletest shows that the tests of a protocol notice each of its rules. It removes
// each rule in turn from the source, with go build -overlay, and runs a simulation without
// the rule. The simulation must fail. With all rules it must pass: otherwise its failures
// would show nothing. It is for tests of this module.
//
// INTRA_RULES=REGEXP chooses rules whose FILE: NAME matches. Without it only the tables
// are checked: the text of each rule must occur exactly once in its file.
package ruletest
