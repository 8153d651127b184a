// Package direct is the protocol by which replicas on one host store the results of tasks
// straight into each other's arrays. It accesses no arrays and runs no tasks. It works on
// words that the replicas share, and decides which task to run and into whose arrays to
// store.
//
// Each replica has a word for every task of its current section. The word names the owner,
// if there is one: the only replica that may write the results of that task into the
// arrays of the replica with the word. Only words of a section that the replica has
// entered can be claimed. So no peer stores into the arrays of a replica that is still in
// an earlier section, or that has left the section. A claim is binding: another replica
// takes it over only when the owner is dead.
//
// A task may read what it writes. So its owner first runs it on its own arrays, marks its
// own word, and only then stores the results elsewhere. If the owner dies before the mark,
// the arrays of its peers are as they were at the entry, and a peer runs the task. If it
// dies after the mark, its own arrays hold the whole result, and outlive it.
//
// If the elements of a task do not depend on each other, the task need not run as a whole
// first. Its owner marks how many elements it has computed, stores those elsewhere, and
// continues. If the owner dies, a peer copies that many elements from its arrays and runs
// the task for the rest.
//
// A replica that waits for a peer's claim may sleep. The peer wakes it when the results
// are in its arrays. The peer also wakes it when it gives the claim back, because it could
// not claim the task in its own arrays.
//
// Stores are one way to complete a section. The replicas agree on the way through one word
// for each section: the first replica to enter writes it. If a replica cannot use that
// way, it does not enter, so no peer waits for it or stores into its arrays.
package direct
