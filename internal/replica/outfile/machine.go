package outfile

// KeptBytes bounds what a replica keeps of a file. A call that would exceed it ends with
// an fsync.
const KeptBytes = 64 << 20

// Machine is the knowledge that one replica of a rank has of one output file. All replicas
// of the rank call its methods in the same order, but for Carry and Settle.
type Machine struct {
	me     uint64 // names this process
	writer uint64 // the process that carried out the last call; 0: none that lives
	state  State
	dirty  bool  // something was written since the last fsync
	kept   kept  // what was, if the replicas keep it
	before int64 // bytes that the last cut has of this version
	cut    uint64
	limit  int // KeptBytes, but for tests
}

// State is the part of a Machine that another process begins with. It is the same on all
// replicas.
type State struct {
	Version int   // of the file under its temporary name
	End     int64 // end of the bytes that this rank knows to be written
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

// The calls.
const (
	Write   CallKind = iota // write Pieces
	Sync                    // make everything durable
	Back                    // cut the file off at Size: after a rollback, or after a failed append
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

// The actions.
const (
	WriteAt  ActionKind = iota // write the bytes of Piece
	Fsync                      // make the file durable
	Truncate                   // cut the file off at Size, if it is longer
	Copy                       // make version Version of the first Size bytes, durable
	Rename                     // give the file its name, durable
)

// Action is something for the driver to do. The driver stops at the first one that fails.
type Action struct {
	Kind    ActionKind
	Piece   Piece
	Size    int64
	Version int
}

// Outcome is the outcome of a call, which all replicas get.
type Outcome struct {
	Writer uint64 // the process that carried it out
	Done   int    // actions that succeeded
	OK     bool   // all actions have succeeded
	Synced bool   // the last of them made everything durable
}

// New returns the machine of a process for a file with size bytes. me names the process,
// is not 0 and differs from all others.
func New(me uint64, size int64, cut uint64) *Machine {
	return NewAt(me, State{End: size}, cut)
}

// NewAt returns the machine of a process that begins with a state taken in a cut.
func NewAt(me uint64, s State, cut uint64) *Machine {
	return &Machine{me: me, state: s, cut: cut, before: s.End, limit: KeptBytes}
}

// State returns the state for another process. This one has settled before.
func (m *Machine) State() State { return m.state }

// End returns the end of the bytes that this rank knows to be written.
func (m *Machine) End() int64 { return m.state.End }

// Version returns the version of the file that is written.
func (m *Machine) Version() int { return m.state.Version }

// Reach records that another rank has written up to an offset.
func (m *Machine) Reach(end int64) { m.state.End = max(m.state.End, end) }

// Passed records that the process has passed a cut. What is written by then must not be
// overwritten in this version.
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

// Carry returns the actions by which this process carries out a call. keeps means that
// the replicas keep what is written.
func (m *Machine) Carry(c Call, keeps bool) []Action {
	var acts []Action
	if c.Kind == Back {
		acts = append(acts, Action{Kind: Truncate, Size: c.Size})
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

// again returns the actions that write what another writer may have lost with its host.
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
		// What is kept may be written in part only, and a failed fsync may have dropped it.
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

// Back records that the file was cut off at size.
func (m *Machine) Back(size int64) {
	m.state.End = size
	m.kept.cutOff(size)
}

func (m *Machine) durable() { m.dirty, m.kept = false, kept{} }

// Settle returns the actions that make everything durable, before this process gives its
// state away. Other replicas need not do the same.
func (m *Machine) Settle() []Action {
	if !m.dirty {
		return nil
	}
	return append(m.again(), Action{Kind: Fsync})
}

// Settled records that the actions of Settle have succeeded.
func (m *Machine) Settled() { m.durable() }
