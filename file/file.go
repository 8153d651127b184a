package file

import (
	"errors"
	"fmt"
	"os"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/replica/outfile"
)

// File is an open file of one rank, or of the ranks of a communicator. One goroutine of a
// process uses it.
type File struct {
	p    *intra.Process
	c    *comm.Comm // nil: the file belongs to one rank
	t    *table
	name string // as given by the program
	kind kind
	at   string // file:line where it was opened
	born uint64 // number of the last consistent cut when the file was opened

	path   string           // final name, absolute
	temp   string           // name of version 0 until it is renamed to path; "": none
	m      *outfile.Machine // nil: the file is only read
	owner  int64            // the job and its rank that has opened it for all, see claim
	handle handle
	pos    int64 // position of Write in a created file, and of Read
	size   int64 // size of a file that is only read
	// stranger means that this replica opened the file late, when the program had already
	// replaced it.
	stranger bool
	failed   error // error of the first write that has failed
	lost     error // a failed fsync: written bytes may be lost
	closed   bool
}

type kind uint8

const (
	created kind = iota
	appended
	opened
)

// ErrUnordered means that several ranks append to one file without an order.
var ErrUnordered = errors.New("several ranks would append without an order: use WriteAll, or WriteAt in a created file")

// ErrOverwrite means that one rank would overwrite bytes that a safe point needs, in a
// file of several ranks.
var ErrOverwrite = errors.New("overwrites bytes from before the last safe point of the job: all ranks have to know, so use WriteAtAll")

// Create creates a file that becomes visible, as a whole, when Close renames it. A file of that
// name keeps its contents until then. c is nil or has the ranks that write the file.
func Create(p *intra.Process, c *comm.Comm, name string) (*File, error) {
	return open(p, c, name, created)
}

// Append opens a file to which records are appended; if there is none, it is created. In a
// job that may roll back, the first Append of a file precedes the first safe point.
func Append(p *intra.Process, c *comm.Comm, name string) (*File, error) {
	return open(p, c, name, appended)
}

// Open opens a file for reading. One replica of each rank reads it for all replicas. Open
// fails if the processes do not see the same file. Before the first safe point of a
// restored process, that process has no peers yet and reads by itself.
func Open(p *intra.Process, c *comm.Comm, name string) (*File, error) {
	return open(p, c, name, opened)
}

func open(p *intra.Process, c *comm.Comm, name string, k kind) (*File, error) {
	t := tableOf(p)
	if err := errors.Join(t.inTask(), inSection(p)); err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	if !t.resuming() {
		t.enter()
	}
	f := &File{p: p, c: c, t: t, name: name, kind: k, at: callsite.Outside(ours), born: t.cut()}
	if err := f.open(); err != nil {
		f.release()
		return nil, err
	}
	t.open = append(t.open, f)
	return f, nil
}

func (f *File) open() error {
	switch {
	case f.name == "":
		return fmt.Errorf("open an output file: no name")
	case f.kind == opened:
		return f.look()
	case f.t.resuming():
		return f.t.claim(f)
	}
	return f.begin()
}

// Name returns the name of the file as it was given.
func (f *File) Name() string { return f.name }

// entry returns the saved state of the file.
func (f *File) entry() entry {
	s := f.m.State()
	return entry{Name: f.name, Kind: f.kind, Born: f.born, Path: f.path, Temp: f.temp, Owner: f.owner, Pos: f.pos, Version: s.Version, End: s.End, Unsynced: s.Unsynced, Failed: f.newFault(f.failed), Lost: f.newFault(f.lost)}
}

// enter begins a call that writes or reads mem.
func (f *File) enter(op string, writes bool, mem []byte) error {
	if f == nil {
		return &os.PathError{Op: op, Path: "of a nil *File", Err: os.ErrInvalid}
	}
	switch {
	case f.closed:
		return f.fault(op, errClosed)
	case f.kind != opened && f.t.resuming():
		return f.fault(op, errors.New("before the first SafePoint of a restored process: do it only if !p.Restored()"))
	case writes && f.kind == opened:
		return f.fault(op, errors.New("it was opened to be read: use Create or Append"))
	}
	if err := f.t.inTask(); err != nil { // not all replicas have this error
		return f.fault(op, err)
	}
	if err := inSection(f.p); err != nil {
		err = f.fault(op, err)
		if writes {
			return f.note(err)
		}
		return err
	}
	if err := f.fetch(op, writes, mem); err != nil {
		return err
	}
	f.t.enter()
	return nil
}

// fetch makes mem current, of which sections with keep may have left a part on another replica.
// Before the call has had any effect, it may end the run of the program in this process.
func (f *File) fetch(op string, writes bool, mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	err := intra.Fetch(f.p, mem)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, intra.ErrRollback):
		return ended{fmt.Errorf("file %s: %w", f.name, err)}
	case writes:
		return f.note(f.fault(op, err))
	}
	return f.fault(op, err)
}

// ours is a prefix of the names of the functions of this package.
const ours = "github.com/intrahpc/intra/file."

// inTask returns an error if the call is made where not all replicas make it.
func (t *table) inTask() error {
	if t.run == nil {
		return nil
	}
	return t.run.RefuseCalls(ours)
}

// inSection returns an error if a section is open.
func inSection(p *intra.Process) error {
	section := bridge.Section(p)
	if section == "" {
		return nil
	}
	function, at := callsite.Into(ours)
	return fmt.Errorf("%s is called at %s in the section opened at %s: call it before or after", function, at, section)
}

// fault returns the error of an invalid call.
func (f *File) fault(op string, err error) error {
	return &os.PathError{Op: op, Path: f.name, Err: err}
}

// leads reports whether this rank makes the calls that one rank makes for all ranks of the
// file.
func (f *File) leads() bool { return f.c == nil || f.c.Rank() == 0 }

// shared reports whether several ranks use the file.
func (f *File) shared() bool { return f.c != nil && f.c.Size() > 1 }

// Sync makes everything that was written durable. All ranks of the file call it.
func (f *File) Sync() error {
	if err := f.enter("sync", true, nil); err != nil {
		return err
	}
	return f.agree(f.sync())
}

func (f *File) sync() error {
	if f.lost != nil {
		return f.lost
	}
	return f.call(outfile.Call{Kind: outfile.Sync})
}

// Close makes a file durable and closes it; all ranks of the file call it. A created file
// gets its name. If a write has failed, or was refused, Close returns the error of that write,
// and removes a created file instead: an earlier file of that name stays.
func (f *File) Close() error {
	if err := f.enter("close", false, nil); err != nil {
		return err
	}
	if f.kind == opened {
		f.closed = true
		f.t.forget(f)
		return nil
	}
	err := f.failed
	if err == nil || f.kind == appended { // a log keeps the records that were written
		if e := f.sync(); err == nil || ends(e) {
			err = e
		}
	}
	size, err := f.whole(err)
	if ends(err) {
		return err
	}
	if f.kind == created {
		if f.born < f.t.cut() { // a rollback may continue this file
			f.t.leave(f.temporary(f.m.Version()))
		}
		if err == nil {
			err = f.lead(outfile.Call{Kind: outfile.Publish, Size: size})
		}
		if ends(err) {
			return err
		}
		if err != nil && f.born == f.t.cut() {
			err = errors.Join(err, f.discard())
		}
	}
	f.closed = true
	f.t.forget(f)
	return err
}

// whole returns the size of the file over all ranks, or the error of the first rank that
// has one.
func (f *File) whole(err error) (int64, error) {
	if err = f.agree(err); err != nil || !f.shared() {
		return f.m.End(), err
	}
	size, err := comm.AllreduceValue(f.c, f.m.End(), comm.Max)
	if err != nil { // such as a rollback, which needs the temporary file
		err = ended{fmt.Errorf("file %s: %w", f.name, err)}
	}
	return size, err
}

// resume restores the file to the safe point at which the run began.
func (f *File) resume() error {
	size, err := f.whole(nil)
	if err != nil {
		return err
	}
	return f.lead(outfile.Call{Kind: outfile.Back, Size: size})
}
