package outfile

import "slices"

// KeptBytes bounds the bytes that a replica keeps of a file. A call that would exceed the
// bound ends with an fsync.
const KeptBytes = 64 << 20

// Machine holds the knowledge of one replica of a rank about one output file. All replicas of the
// rank call its methods in the same order, except Carry and Settle.
type Machine struct {
	me     uint64 // identifies this process
	writer uint64 // the process that carried out the last call; 0: none, or it is dead
	state  State
	dirty  bool  // some bytes were written since the last fsync
	kept   kept  // bytes written since the last fsync, if the replicas keep them
	before int64 // bytes of this version that the last cut needs
	cut    uint64
	limit  int // KeptBytes; tests set less
}

// State is the part of a Machine with which another process begins. It is the same on all
// replicas.
type State struct {
	Version int   // version of the file under its temporary name
	End     int64 // end of the bytes that this rank knows of
	// Unsynced counts the bytes written since the last fsync that all replicas know of. A
	// replica that has settled or joined after that fsync keeps only part of these bytes.
	Unsynced int64
}

// Piece is a range of bytes of a file.
type Piece struct {
	Offset int64
	Data   []byte
}

func (p Piece) end() int64 { return p.Offset + int64(len(p.Data)) }

// CallKind is the kind of a call.
type CallKind uint8

// The calls that one replica carries out.
const (
	Write   CallKind = iota // write Pieces
	Read                    // read what this rank has written
	Sync                    // make everything durable
	Back                    // truncate the file to Size: after a rollback, or after a failed append
	Fork                    // begin the next version with the first Size bytes of this one
	Publish                 // give the file its name
)

// Call is a call of the program that one replica carries out.
type Call struct {
	Kind   CallKind
	Pieces []Piece
	Size   int64
}

// ActionKind is the kind of an Action.
type ActionKind uint8

// The actions of the writer.
const (
	WriteAt  ActionKind = iota // write the bytes of Piece
	ReadAt                     // read
	Fsync                      // make the file durable
	Truncate                   // truncate the file to Size, if it is longer; if Whole, it must not be shorter
	Copy                       // copy the first Size bytes to version Version, and make it durable
	Rename                     // give the file its name, and make the name durable
)

// Action is something for the driver to do. The driver stops at the first action that
// fails.
type Action struct {
	Kind    ActionKind
	Piece   Piece
	Size    int64
	Version int
	// Whole means that all bytes up to Size are durable.
	Whole bool
}

// Outcome is the outcome of a call, which all replicas get.
type Outcome struct {
	Writer uint64 // the process that carried it out
	Done   int    // number of actions that succeeded
	OK     bool   // all actions have succeeded
	Synced bool   // the last action made everything durable
}

// New returns the machine of a process for a file of size bytes. me identifies the
// process; it is not 0, and no two processes have the same.
func New(me uint64, size int64, cut uint64) *Machine {
	return NewAt(me, State{End: size}, cut)
}

// NewAt returns the machine of a process that begins with a state taken in a cut.
func NewAt(me uint64, s State, cut uint64) *Machine {
	return &Machine{me: me, state: s, cut: cut, before: s.End, limit: KeptBytes}
}

// Clone returns a copy of m, from which a later run of the program in this process
// continues. It takes no time for the kept bytes.
func (m *Machine) Clone() *Machine {
	c := *m
	c.kept.pieces = make([]Piece, len(m.kept.pieces))
	for i, p := range m.kept.pieces { // limit the capacity, because m and c may each append to the last piece
		c.kept.pieces[i] = Piece{p.Offset, slices.Clip(p.Data)}
	}
	return &c
}

// State returns the state for another process. This process must have settled before.
func (m *Machine) State() State { return m.state }

// End returns the end of the bytes that this rank knows of.
func (m *Machine) End() int64 { return m.state.End }

// Version returns the version of the file that is written.
func (m *Machine) Version() int { return m.state.Version }

// Reach records that another rank has written up to the offset end.
func (m *Machine) Reach(end int64) { m.state.End = max(m.state.End, end) }

// Passed records that the process has passed a cut. The bytes written before the cut must
// not be overwritten in this version.
func (m *Machine) Passed(cut uint64) {
	if cut != m.cut {
		m.cut, m.before = cut, m.state.End
	}
}

// Forked records that another rank has begun the next version with the first size bytes of
// this one, after all ranks have made them durable.
func (m *Machine) Forked() { m.state.Version, m.before = m.state.Version+1, 0 }

// Before returns the number of bytes that must not be overwritten in this version.
func (m *Machine) Before() int64 { return m.before }

// Carry returns the actions with which this process carries out a call. keeps means that
// the replicas keep written bytes.
func (m *Machine) Carry(c Call, keeps bool) []Action {
	var acts []Action
	if c.Kind == Back {
		acts = append(acts, Action{Kind: Truncate, Size: c.Size, Whole: !m.dirty})
	}
	acts = append(acts, m.again()...)
	switch c.Kind {
	case Write:
		n := 0
		for _, p := range c.Pieces {
			acts = append(acts, Action{Kind: WriteAt, Piece: p})
			n += len(p.Data)
		}
		if keeps && m.state.Unsynced+int64(n) > int64(m.limit) {
			acts = append(acts, Action{Kind: Fsync})
		}
	case Read:
		acts = append(acts, Action{Kind: ReadAt})
	case Sync:
		if m.dirty {
			acts = append(acts, Action{Kind: Fsync})
		}
	case Fork:
		acts = append(acts, Action{Kind: Copy, Size: c.Size, Version: m.state.Version + 1})
	case Publish:
		acts = append(acts, Action{Kind: Rename, Size: c.Size, Version: m.state.Version})
	}
	return acts
}

// again returns the actions that write again the bytes that another writer may have lost
// with its host.
func (m *Machine) again() (acts []Action) {
	if m.writer == m.me {
		return nil
	}
	for _, p := range m.kept.pieces {
		acts = append(acts, Action{Kind: WriteAt, Piece: p})
	}
	return acts
}

// Result returns the outcome of a call that this process has carried out: the first done
// actions succeeded.
func (m *Machine) Result(acts []Action, done int) Outcome {
	o := Outcome{Writer: m.me, Done: done, OK: done == len(acts)}
	if n := len(acts); o.OK && n > 0 {
		o.Synced = acts[n-1].Kind == Fsync || acts[n-1].Kind == Copy
	}
	return o
}

// Carried records the outcome of a call, on every replica.
func (m *Machine) Carried(c Call, o Outcome, keeps bool) {
	if !o.OK {
		// The kept bytes may have been written only in part, and a failed fsync may have
		// dropped them.
		m.writer, m.dirty = 0, true
		return
	}
	m.writer = o.Writer
	switch c.Kind {
	case Write:
		m.written(c.Pieces, keeps && !o.Synced)
	case Back:
		m.Back(c.Size)
	case Fork:
		m.Forked()
	}
	if o.Synced || c.Kind == Sync {
		m.durable()
		m.state.Unsynced = 0
	}
}

func (m *Machine) written(pieces []Piece, keeps bool) {
	for _, p := range pieces {
		m.state.End = max(m.state.End, p.end())
		m.dirty = true
		if keeps {
			m.kept.add(p)
			m.state.Unsynced += int64(len(p.Data))
		}
	}
}

// Back records that the file was truncated to size.
func (m *Machine) Back(size int64) {
	m.state.End = size
	m.kept.cutOff(size)
}

func (m *Machine) durable() { m.dirty, m.kept = false, kept{} }

// Settle returns the actions that make everything durable, before the state of this
// process is copied. Other replicas need not do the same.
func (m *Machine) Settle() []Action {
	if !m.dirty {
		return nil
	}
	return append(m.again(), Action{Kind: Fsync})
}

// Settled records that the actions of Settle have succeeded.
func (m *Machine) Settled() { m.durable() }
