// Package outfile decides which replica of a rank writes an output file, what it writes
// and where.
//
// All replicas of a rank make the same calls on a file, and one of them carries out each
// call: the lowest live one, as the protocol of Once chooses it. A call takes effect on no
// replica before all live replicas hold its outcome. So the next writer knows of every
// write on which any replica has acted.
//
// The pages of a host that dies may be lost. So each replica keeps what was written since
// the last fsync, and a process that carries out its first call after another process
// writes all of that again. Offsets are explicit, so a repetition writes the same bytes to
// the same place, however late. A replica makes what it keeps durable before it gives its
// state away: to a backup, to a checkpoint file or to a joiner.
//
// What was written after a safe point, the job cuts off when it rolls back to that safe
// point. Bytes that the safe point has are not overwritten: the first write that would do
// so goes to a copy of the file, the next version.
//
// Machine is the protocol, without I/O. Package file drives it.
package outfile
