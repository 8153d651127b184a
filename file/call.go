package file

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/outfile"
)

// outcome is the result of a call that one replica makes for all replicas of its rank. All
// replicas get the same error.
type outcome struct {
	outfile.Outcome
	What  string // describes the call, which is the same on all replicas
	Fault *fault `json:",omitempty"`
	Fsync bool   `json:",omitempty"` // an fsync has failed
	Reads bool   `json:",omitempty"` // a Read has begun to read
	Path  string `json:",omitempty"`
	Temp  string `json:",omitempty"`
	Token string `json:",omitempty"`
	Owner int64  `json:",omitempty"`
	Size  int64  `json:",omitempty"`
	Sum   uint64 `json:",omitempty"`
	Time  int64  `json:",omitempty"` // when the file last changed, in nanoseconds
	data  []byte
}

// fault is an error in the form in which it is sent to other processes.
type fault struct {
	Op, Path string
	Errno    syscall.Errno
	Text     string
	Rank     int // rank in the communicator of the file that has the error; -1: the rank of this process
}

func (f *File) newFault(err error) *fault {
	if err == nil {
		return nil
	}
	t := &fault{Rank: -1, Path: f.name}
	var rank rankError
	var path *os.PathError
	var link *os.LinkError
	var number syscall.Errno
	if errors.As(err, &rank) {
		t.Rank, err = rank.rank, rank.error
	}
	t.Text = err.Error()
	switch {
	case errors.As(err, &path) && errors.As(path.Err, &number):
		t.Op, t.Errno = path.Op, number
	case errors.As(err, &link) && errors.As(link.Err, &number):
		t.Op, t.Errno = link.Op, number
	}
	return t
}

func (f *fault) error() error {
	if f == nil {
		return nil
	}
	err := errors.New(f.Text)
	if f.Errno != 0 {
		err = &os.PathError{Op: f.Op, Path: f.Path, Err: f.Errno}
	}
	if f.Rank >= 0 {
		err = rankError{f.Rank, err}
	}
	return err
}

// rankError is an error of one rank that all ranks of a file get.
type rankError struct {
	rank int
	error
}

func (e rankError) Error() string { return fmt.Sprintf("rank %d: %v", e.rank, e.error) }
func (e rankError) Unwrap() error { return e.error }

// ended is an error that ends the run of the program. The file stays as it is.
type ended struct{ error }

func (e ended) Unwrap() error { return e.error }

// ends reports whether the run ends with an error.
func ends(err error) bool {
	var e ended
	return errors.As(err, &e)
}

// once calls do in one replica of the rank, and returns the outcome in all of them.
// what describes do, with its arguments: replicas that make different calls have diverged.
func (f *File) once(what string, do func(*outcome) error) (outcome, error) {
	again := f.t.run != nil && f.t.run.Repeats()
	b, err := intra.OnceBytes(f.p, func() ([]byte, error) {
		for _, path := range f.t.expired {
			_ = os.Remove(path) // a replica that died may have removed the file before
		}
		o := outcome{What: what}
		o.Fault = f.newFault(do(&o))
		f.t.mark()
		b, err := json.Marshal(o)
		b = append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
		return append(b, o.data...), err
	})
	if err != nil {
		return outcome{}, ended{fmt.Errorf("file %s: %w", f.name, err)}
	}
	f.t.expired = nil
	o, err := parseOutcome(b)
	switch {
	case err == nil && o.What == what:
		return o, nil
	case err != nil:
		o.What = "call intra.Once"
	}
	return o, ended{fmt.Errorf("%w: file %s: %w", intra.ErrDiverged, f.name, f.differs(what, o.What, again))}
}

// differs describes that this replica makes another call than another one has made, or than its
// own earlier run.
func (f *File) differs(what, other string, again bool) error {
	at := callsite.Outside(ours)
	if again {
		return fmt.Errorf("the run again from a settled point wants to %s, at %s, and the run before wanted to %s: %s", what, at, other, job.ForgottenState)
	}
	return fmt.Errorf("replica %d wants to %s, at %s, and another replica to %s: replicas must make the same calls, with the same arguments",
		f.p.Replica(), what, at, other)
}

var errOutcome = errors.New("its length is wrong")

// parseOutcome is the inverse of once.
func parseOutcome(b []byte) (o outcome, err error) {
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return o, errOutcome
	}
	n := binary.LittleEndian.Uint32(b)
	err = json.Unmarshal(b[4:4+n], &o)
	o.data = b[4+n:]
	return o, err
}

// call carries out a call in one replica of the rank.
func (f *File) call(c outfile.Call) error {
	if f.t.trial() {
		f.m.Carried(c, outfile.Outcome{OK: true}, false)
		return nil
	}
	_, err := f.carry(c, f.t.describe(c), nil)
	return err
}

// carry carries out a call in one replica of the rank, and returns its outcome. In a Read, it
// calls read.
func (f *File) carry(c outfile.Call, what string, read func(*outcome) error) (outcome, error) {
	keeps := f.t.keeps()
	o, err := f.once(what, func(o *outcome) error {
		acts := f.m.Carry(c, keeps)
		done, err := f.perform(acts, func() error { return read(o) })
		o.Outcome = f.m.Result(acts, done)
		o.Fsync = err != nil && acts[done].Kind == outfile.Fsync
		return err
	})
	if err != nil {
		return o, err
	}
	f.m.Carried(c, o.Outcome, keeps)
	if err = o.Fault.error(); err != nil && o.Fsync {
		f.lost = err
	}
	return o, err
}

// describe returns what a call does.
func (t *table) describe(c outfile.Call) string {
	switch c.Kind {
	case outfile.Write:
		n, low := extent(c.Pieces)
		if n == 0 || !t.hashes() {
			return fmt.Sprintf("write %d bytes from %d on", n, low)
		}
		h := xxh3.New()
		for _, p := range c.Pieces {
			_, _ = h.Write(p.Data) // a hash returns no error
		}
		return fmt.Sprintf("write %d bytes with hash %016x from %d on", n, h.Sum64(), low)
	case outfile.Sync:
		return "synchronize it"
	case outfile.Back:
		return fmt.Sprintf("cut it off at %d", c.Size)
	case outfile.Fork:
		return fmt.Sprintf("copy its first %d bytes", c.Size)
	}
	return fmt.Sprintf("give its name to %d bytes", c.Size)
}

// lead makes a call in the first rank of the file, and returns its error on all ranks.
func (f *File) lead(c outfile.Call) error {
	var err error
	if f.leads() {
		err = f.call(c)
	}
	if err = f.agree(err); err != nil || f.leads() {
		return err
	}
	switch c.Kind {
	case outfile.Back:
		f.m.Back(c.Size)
	case outfile.Fork:
		f.m.Forked()
	}
	return nil
}

// agree returns on all ranks of the file the error of the first rank that has one.
func (f *File) agree(err error) error {
	if !f.shared() || ends(err) {
		return err
	}
	mine := uint32(0)
	if err != nil {
		mine = 1
	}
	all := make([]uint32, f.c.Size())
	if e := comm.Allgather(f.c, []uint32{mine}, all); e != nil {
		return ended{fmt.Errorf("file %s: %w", f.name, e)}
	}
	for rank, bad := range all {
		if bad == 0 {
			continue
		}
		o := f.newFault(err)
		if rank == f.c.Rank() && o.Rank < 0 {
			o.Rank = rank
		}
		if e := f.bcast(&o, rank); e != nil {
			return e
		}
		return o.error()
	}
	return nil
}

// bcast copies v of one rank of the file to all of them.
func (f *File) bcast(v any, root int) error {
	if !f.shared() {
		return nil
	}
	b, err := json.Marshal(v)
	n := []int64{int64(len(b))}
	if err == nil {
		err = comm.Bcast(f.c, n, root)
	}
	if err == nil {
		if f.c.Rank() != root {
			b = make([]byte, n[0])
		}
		err = comm.Bcast(f.c, b, root)
	}
	if err == nil && f.c.Rank() != root {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return ended{fmt.Errorf("file %s: %w", f.name, err)}
	}
	return nil
}

// perform carries out actions and returns the number of those that succeeded. For ReadAt it
// calls read.
func (f *File) perform(acts []outfile.Action, read func() error) (int, error) {
	for i, a := range acts {
		f.t.mark()
		act := func() error { return f.act(a) }
		if a.Kind == outfile.ReadAt {
			act = read
		}
		if err := act(); err != nil {
			return i, err
		}
	}
	return len(acts), nil
}

func (f *File) act(a outfile.Action) error {
	switch a.Kind {
	case outfile.Rename:
		return f.publish(a.Size, a.Version)
	case outfile.Copy:
		return f.duplicate(f.temporary(a.Version-1), f.temporary(a.Version), a.Size)
	case outfile.Truncate:
		if f.kind == created {
			if err := f.detach(a.Size); err != nil {
				return err
			}
			if err := f.sweep(f.temp, f.m.Version()); err != nil {
				return err
			}
		}
	}
	h, err := f.output()
	if err != nil {
		return err
	}
	switch a.Kind {
	case outfile.WriteAt:
		err = f.put(h, a.Piece)
	case outfile.Fsync:
		err = f.fsync()
	case outfile.Truncate:
		err = f.cutOff(h, a.Size, a.Whole)
	}
	return err
}

// put writes a piece. It writes two halves if the process may be killed inside a file
// operation.
func (f *File) put(h *os.File, p outfile.Piece) error {
	if f.t.step != nil {
		n := len(p.Data) / 2
		if _, err := h.WriteAt(p.Data[:n], p.Offset); err != nil {
			return err
		}
		f.t.mark()
		p.Data, p.Offset = p.Data[n:], p.Offset+int64(n)
	}
	_, err := h.WriteAt(p.Data, p.Offset)
	return err
}

// settle makes durable the bytes that this process would otherwise have to write again.
func (f *File) settle() error {
	if f.m == nil || f.t.trial() {
		return nil
	}
	acts := f.m.Settle()
	if len(acts) == 0 {
		return nil
	}
	if _, err := f.perform(acts, nil); err != nil {
		return err
	}
	f.m.Settled()
	return nil
}

// current returns the path under which the file exists at present.
func (f *File) current() string {
	if f.kind == created {
		return f.temporary(f.m.Version())
	}
	return f.path
}

// temporary returns the temporary name of a version of a created file.
func (f *File) temporary(version int) string {
	if version == 0 {
		return f.temp
	}
	return fmt.Sprintf("%s.%d", f.temp, version)
}
