// Package comm passes messages between the ranks of a job: communicators and
// groups, point-to-point calls, and collective operations, with the meaning
// that MPI gives them. A program sees ranks only. Their replicas, and the death
// of some of them, do not show: every call has the results that it would have
// without replication.
//
// Calls with an element type are generic functions, others are methods of
// Comm. Elements are of any type without pointers, also structs and arrays.
// Memory given to a non-blocking call belongs to it until Wait or Test has
// reported its completion.
//
// What a call reads and what it writes may not overlap: a call with two buffers, or with
// parts of them, fails with ErrOverlap, which names the arguments. Buffers without
// elements overlap nothing, the same memory may be sent to several ranks, and a rank may
// pass what it likes for an argument that only the root uses. Allreduce, Reduce, Scan and
// Exscan work in place with a nil send; so do Gather, Gatherv, Allgather and Allgatherv,
// for the part of the caller, and Scatter and Scatterv with a nil recv. SendrecvReplace
// sends and receives in one buffer. Two requests under way at the same time are not
// compared: a program must not receive into memory that a pending Isend reads, nor have
// two pending receives write the same memory. The replicas of a rank would go on with
// different values.
//
// A program may depend on the order in which messages of different ranks arrive. The replicas of a
// rank agree on it: on the message that a receive or a probe from AnySource takes, and on the results
// of Test, TestAny, TestSome, TestAll, WaitAny, WaitSome, Iprobe and Cancel. The lowest live replica
// decides, and the call returns once all live replicas hold the decision, which takes a round trip
// between them. Comm.AssertSendDeterministic on the world saves that in programs whose messages and
// output do not depend on the order. After a rollback a job may take another order than before.
//
// Cancel cancels a receive in all replicas of the rank or in none. If one replica cancels a receive
// whose message another replica has received already, the latter fails, and its peers continue.
//
// Rules for programs. The members of a communicator call its collective operations, Dup, Split and
// Create in the same order.
// Several goroutines of a process may communicate at the same time if each
// uses a communicator of its own, made by Dup. There are no timeouts: they
// would be differences between replicas.
//
// A program that never receives from AnySource may say so at its start, by
// Comm.AssertNoAnySource on the world. After AssertSendDeterministic messages of
// replicated ranks are smaller then, if it has no barriers or reductions of all ranks.
//
// A call that waits for a rank whose program has returned, and that nothing
// can come from any more, fails with ErrFinished; ranks of a communicator that
// call different collective operations, or one with different roots or
// lengths, get ErrMismatch. Both name the ranks, the calls and the place. Test
// and Iprobe go on to say that nothing is there. Ranks that all wait for each
// other are not found out.
//
// At a safe point, receives, synchronous sends and collective operations have
// been waited for (an ordinary Isend may be pending), and all members make and
// free a communicator on the same side of it. In a process that begins at one,
// because it replaces another or the job went back to it, Dup, Split, Create
// and CreateGroup return the communicators that were in use there, those made
// in one way in the order in which they were made, until the program comes to
// its first safe point; all other communication before fails with ErrRestored.
//
// A communicator keeps the plans of its last few collective operations of up to 1 KiB, and
// the memory that they were given: the same operation of the same memory is planned
// once.
//
// A message of up to 32 KiB is sent at once and copied as long as the copies
// for its destination stay within 4 MiB; a longer one is handed over when a
// receive has matched it, and its Send returns when every live replica of the
// destination has it. Where processes take turns on the cores of a host, one of up
// to 256 KiB is copied rather than waited for when only other replicas still have to
// send it. A correct program does not rely on Send to return
// before that, as in MPI.
package comm
