// Package file writes and reads the files of a program whose ranks have replicas. One
// replica of a rank writes each byte for all of them. After any failure the contents are
// those of a run without failures.
//
//	field, err := file.Create(p, p.World(), "field.bin") // every rank calls it
//	…
//	err = field.WriteAtAll(part, int64(p.Rank()*len(part)))
//	…
//	err = field.Close() // now field.bin has its name
//
//	log, err := file.Append(p, nil, "log.txt") // the rank that calls it has the file for itself
//	…
//	_, err = fmt.Fprintln(log, pass, norm)
//
// With a communicator, all of its ranks make the calls Create, Append, Open, Close, Sync
// and those whose names end in All, in the same order. Without one (nil), one rank has the
// file for itself. All replicas of a rank make every call, between sections, and get the
// same results and the same errors.
//
// A created file is visible as a whole: it has a temporary name beside its own until Close
// renames it. A file that is appended to is visible at once and grows by whole records.
// Both are durable after Sync and Close.
//
// Files may stay open across safe points. Their positions are part of the state of the
// program. So a process that begins with saved state opens them in the same way, before
// its first safe point, and continues at those positions. A rollback cuts off what was
// written after its safe point.
//
// docs/files.md describes the guarantees, the limits and the costs.
package file
