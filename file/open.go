package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/replica/outfile"
)

// errLate is the error of an Append that a rollback could not undo.
var errLate = errors.New("the job may roll back to a safe point before this first Append of the file, and would not know its size: call Append before the first SafePoint")

// begin opens a file that is written.
func (f *File) begin() error {
	var o outcome
	var err error
	if f.leads() {
		if o, err = f.first(); err != nil {
			return err
		}
	}
	if err := f.bcast(&o, 0); err != nil {
		return err
	}
	if err := o.Fault.error(); err != nil {
		return err
	}
	f.path, f.temp, f.owner = o.Path, o.Temp, o.Owner
	if f.leads() {
		f.t.claimant = f.owner >> rankBits
	}
	f.m = outfile.New(f.t.me, o.Size, f.t.cut())
	if err := f.agree(f.another(o)); err != nil {
		if f.kind == created && !ends(err) {
			err = errors.Join(err, f.discard())
		}
		return err
	}
	if o.Token == "" || f.t.trial() {
		return nil
	}
	if !slices.Contains(f.t.tokens, o.Token) {
		f.t.tokens = append(f.t.tokens, o.Token)
	}
	// A replica that lags behind may look for the token long after the other replicas have
	// closed the file. So the token stays until Release.
	if err := f.t.sees(o.Token); err != nil {
		return fmt.Errorf("%w: %w", intra.ErrDiverged, err)
	}
	return nil
}

// what describes how the file is opened, and which file it is.
func (f *File) what() string {
	return [...]string{created: "create ", appended: "append to ", opened: "open "}[f.kind] + f.name
}

// another returns an error if the first rank opens another file, or opens the file in another way.
func (f *File) another(o outcome) error {
	if o.What == f.what() {
		return nil
	}
	return fmt.Errorf("%s: rank 0 of its communicator wants to %s: all ranks open the same file in the same way, and a file of one rank has nil in place of the communicator",
		f.what(), o.What)
}

// first opens the file for all ranks.
func (f *File) first() (outcome, error) {
	if f.kind == created {
		f.t.made++
	}
	if f.t.trial() {
		path, _, err := target(f.name)
		return outcome{What: f.what(), Path: path, Size: f.t.ends[path], Fault: f.newFault(err)}, nil
	}
	if f.t.nonce == "" {
		f.t.nonce = f.t.newNonce()
	}
	if f.t.claimant == 0 {
		f.t.claimant = f.t.newClaimant()
	}
	f.owner = f.t.claimant<<rankBits | int64(f.p.Rank())
	return f.once(f.what(), func(o *outcome) error {
		o.Owner = f.owner
		if err := f.start(o); err != nil {
			return err
		}
		switch end := f.t.ends[o.Path]; {
		case f.kind == created:
			o.Size = 0
		case f.t.back[o.Path]: // a rolled back execution may have appended to the file
			o.Size = end
			return f.cutOff(f.handle.file, end, true)
		}
		return nil
	})
}

// look opens a file that is read.
func (f *File) look() error {
	own := outcome{What: f.what()}
	own.Fault = f.newFault(f.sample(&own))
	o := own
	if !f.t.resuming() {
		var err error
		if o, err = f.once(f.what(), func(o *outcome) error { *o = own; return own.Fault.error() }); err != nil {
			return err
		}
		// A replica that lags behind may see later changes by the program itself.
		if !o.same(own) && own.Time <= o.Time {
			host, _ := os.Hostname()
			return fmt.Errorf("%w: file %s is not the same on all hosts of the job: replica %d on host %s has %s, another replica has %s: put it on a file system that they share",
				intra.ErrDiverged, f.name, f.p.Replica(), host, own.describe(), o.describe())
		}
	}
	f.path, f.size = o.Path, o.Size
	f.stranger = !o.same(own)
	err := o.Fault.error()
	if f.shared() && !f.t.resuming() {
		if err = f.agree(err); err == nil {
			err = f.same(o)
		}
	}
	return err
}

// same reports whether two processes have seen the same file.
func (o outcome) same(q outcome) bool {
	return o.Size == q.Size && o.Sum == q.Sum && (o.Fault == nil) == (q.Fault == nil)
}

func (o outcome) describe() string {
	if o.Fault != nil {
		return o.Fault.error().Error()
	}
	return fmt.Sprintf("%d bytes with hash %016x at their ends", o.Size, o.Sum)
}

// input returns the descriptor of a file that is read.
func (f *File) input() (*os.File, error) {
	if f.stranger {
		return nil, fmt.Errorf("read %s: it has been replaced since another replica opened it", f.name)
	}
	return f.handle.file, nil
}

// same returns an error if the ranks do not all see the same file.
func (f *File) same(o outcome) error {
	all := make([]uint64, 2*f.c.Size())
	if err := comm.Allgather(f.c, []uint64{uint64(o.Size), o.Sum}, all); err != nil {
		return ended{fmt.Errorf("file %s: %w", f.name, err)}
	}
	for rank := range f.c.Size() {
		if !slices.Equal(all[2*rank:2*rank+2], all[:2]) {
			return fmt.Errorf("file %s is not the same on all hosts of the job: rank 0 has %s, and rank %d has %s: put it on a file system that they share",
				f.name, outcome{Size: int64(all[0]), Sum: all[1]}.describe(), rank, outcome{Size: int64(all[2*rank]), Sum: all[2*rank+1]}.describe())
		}
	}
	return nil
}

// sampleBytes is the number of bytes at each end of a file that processes compare, to find
// hosts that see different files.
const sampleBytes = 64 << 10

// sample opens the file in this process and describes it in o.
func (f *File) sample(o *outcome) error {
	path, info, err := target(f.name)
	if err != nil {
		return err
	}
	if info == nil {
		return &os.PathError{Op: "open", Path: f.name, Err: syscall.ENOENT}
	}
	h, err := os.Open(path)
	if err != nil {
		return err
	}
	f.handle = handle{h, path}
	if info, err = h.Stat(); err != nil {
		return err
	}
	b := make([]byte, sampleBytes)
	sum := xxh3.New()
	for _, at := range []int64{0, max(0, info.Size()-sampleBytes)} {
		n, err := h.ReadAt(b, at)
		if err != nil && err != io.EOF {
			return err
		}
		_, _ = sum.Write(b[:n]) // a hash returns no error
	}
	o.Path, o.Size, o.Sum, o.Time = path, info.Size(), sum.Sum64(), info.ModTime().UnixNano()
	return nil
}
