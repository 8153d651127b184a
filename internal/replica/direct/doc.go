// Package direct is the protocol by which replicas on one host store the
// results of tasks straight into each other's arrays. It holds no memory and
// runs nothing: it works on words that the replicas share, and says which task
// to run and whose arrays to store into.
//
// Each replica has a word for every task of the section that it is in. It says
// who may write what that task writes in the arrays of this replica: nobody
// yet, or the one replica that has claimed it. Only the words of the section
// that a replica has entered can be claimed, so nobody stores into arrays whose
// replica still computes with them as they were before, or has moved on. A
// claim binds: it is taken over only when its owner is dead.
//
// A task may read what it writes. So its owner runs it on its own arrays
// first, says so in its own word, and only then stores into those of others. If
// it dies before that, the arrays of the others are as they were at the entry,
// and they run the task; if it dies later its own arrays hold the whole result,
// and outlive it.
//
// Where the elements of a task do not depend on each other it need not run as a
// whole first: its owner says how many elements it has computed, stores those
// elsewhere, and goes on. If it dies, the others take that many from its arrays,
// and run the task for the rest.
//
// Who waits for a claim of a peer may sleep: it is told when the results are in its arrays,
// and when the claim was given back, since the peer could not have the task everywhere.
//
// That is one way to complete a section. Which way the replicas go is agreed by
// one word for each section: who comes to it first says it there. Should a
// replica go another way all the same, since it has to, then nobody waits for
// it, and nobody stores into its arrays: it has not entered.
package direct
