// Package outfile decides which replica of a rank writes an output file, which bytes it
// writes and at which offset.
//
// All replicas of a rank make the same calls on a file, and one of them carries out each
// call: the lowest live one, as the protocol of Once chooses it. A call takes effect on no
// replica before all live replicas hold its outcome. So the next writer knows of every
// write that any replica has seen.
//
// The pages of a host that dies may be lost. So each replica keeps the bytes written since
// the last fsync. A process that carries out a call for the first time after another
// process writes all these bytes again. Offsets are explicit, so a late repetition writes
// the same bytes to the same place. A replica makes the bytes that it keeps durable before
// its state is copied: for a backup, a checkpoint file or a joiner.
//
// When the job rolls back to a safe point, it cuts off the bytes written after that safe
// point. Bytes from before a safe point are not overwritten: the first write that would do
// so goes to a copy of the file, the next version.
//
// A process may run a part of the program again, alone. It begins with a copy of the Machine
// from the safe point, and gets the outcomes of the calls that it has made since. Other ranks
// have written meanwhile, so it truncates nothing.
//
// Machine is the protocol, without I/O. Package file drives it.
package outfile
