// Package comm passes messages between the ranks of a job: communicators and groups,
// point-to-point calls, and collective operations, with the semantics of MPI. A program
// sees only ranks. Their replicas, and deaths of replicas, are invisible: every call has
// the results that it would have without replication.
//
// # Calls and buffers
//
// Calls with an element type are generic functions, others are methods of Comm. Elements
// may be of any type without pointers, including structs and arrays. Memory given to a
// non-blocking call belongs to that call until Wait or Test has reported its completion.
//
// The memory that a call reads and the memory that it writes must not overlap. A call whose
// buffers, or parts of them, overlap fails with ErrOverlap, which names the arguments.
// Buffers without elements overlap nothing. The same memory may be sent to several ranks. A
// rank may pass any value for an argument that only the root uses.
//
// Allreduce, Reduce, Scan and Exscan work in place with a nil send. Gather, Gatherv,
// Allgather and Allgatherv do so for the part of the caller, and Scatter and Scatterv with
// a nil recv. SendrecvReplace sends and receives in one buffer.
//
// The package does not compare the buffers of two requests that are under way at the same time. A
// program must not receive into memory that a pending Isend reads, nor let two pending receives
// write the same memory. Otherwise the replicas of a rank continue with different values.
//
// # Order of messages
//
// A program may depend on the order in which messages of different ranks arrive. The
// replicas of a rank agree on two things: on the message that a receive or a probe from
// AnySource gets, and on the results of Test, TestAny, TestSome, TestAll, WaitAny,
// WaitSome, Iprobe and Cancel. The lowest live replica decides. The call returns once all
// live replicas hold the decision, which takes a round trip between them. Programs whose
// messages and output do not depend on the order can save this round trip with
// Comm.AssertSendDeterministic on the world. After a rollback messages may arrive in another order
// than before.
//
// Cancel cancels a receive in all replicas of the rank or in none. If one replica cancels a
// receive whose message another replica has already received, the latter fails, and its
// peers continue.
//
// A program that never receives from AnySource may assert that at its start, with
// Comm.AssertNoAnySource on the world. After AssertSendDeterministic this makes messages of
// replicated ranks smaller, if the program has no barriers or reductions of all ranks.
//
// # Rules for programs
//
// The members of a communicator call its collective operations, Dup, Split and Create in
// the same order. Several goroutines of a process may communicate at the same time if each
// uses a communicator of its own, made by Dup. There are no timeouts, since they would make
// replicas differ.
//
// A call that waits for a rank whose program has returned, so that it can never complete,
// fails with ErrFinished. Ranks of a communicator that call different collective
// operations, or the same one with different roots or lengths, get ErrMismatch. Both errors
// name the ranks, the calls and the place. Test and Iprobe still report that nothing has
// arrived. The package does not detect ranks that all wait for each other.
//
// # Safe points
//
// Before a safe point, the program has to wait for receives, synchronous sends and
// collective operations. An ordinary Isend may be pending. All members make and free a
// communicator on the same side of a safe point.
//
// A process may begin at a safe point, because it replaces another process or because the
// job rolled back. Until its program reaches its first safe point, Dup, Split, Create and
// CreateGroup return the communicators that were in use at the safe point where the process
// began. Communicators made in one way are returned in the order of their creation. All
// other communication before the first safe point fails with ErrRestored.
//
// # Memory
//
// A communicator keeps the plans of its last few collective operations of up to 1 KiB, and
// references to their memory. So the same operation with the same memory is planned only
// once.
//
// A message of up to 32 KiB is sent at once, and is copied if the copies for its
// destination stay within 4 MiB. A longer one is sent when a receive has matched it, and
// its Send returns when every live replica of the destination has it. If there are more
// processes than cores, a message of up to 256 KiB is copied as soon as only other replicas still
// have to send it, so that Send need not wait for them. As in MPI, a correct program does not rely
// on Send to return before the message is received.
package comm
