// Package file writes and reads the files of a program whose ranks have replicas. Each
// byte is written once: by one replica of its rank, right after every failure. The file is
// that of a run without failures.
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
// With a communicator, all of its ranks make the calls Create, Append, Open, Close, Sync and
// those whose names end in All, in the same order. Without one (nil), one rank has the file
// for itself. All replicas of a rank make every call, between sections, and get the same
// results and the same errors.
//
// A created file is visible as a whole: it has a temporary name beside its own until
// Close renames it. A file that is appended to is visible at once and grows by whole
// records. Both are durable after Sync and Close.
//
// Files may stay open across safe points. Their positions are part of the state of the
// program, so a process that begins with saved state opens them in the same way, before
// its first safe point, and continues where they were. What was written after the safe
// point that a job rolls back to is cut off then.
//
// docs/files.md has the promises, the limits and the costs.
package file
