package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MaxMessage bounds an encoded message, in bytes. The largest messages describe every
// process of the job in about 200 bytes each, so there is room for more than 50,000
// processes.
const MaxMessage = 16 << 20

// Kind names a message of the control connection.
type Kind string

// The messages, in the order in which a job sends them. P: process to head, H: head to
// process. The fields that each message uses follow.
const (
	KindOpen      Kind = "open"      // P Version, Nonce
	KindChallenge Kind = "challenge" // H Version, Nonce, MAC
	KindJoin      Kind = "join"      // P MAC, Hello
	KindReject    Kind = "reject"    // P Text: the process refuses the head
	KindRefuse    Kind = "refuse"    // H Text: the process may not join
	KindSetup     Kind = "setup"     // H Setup, Epoch
	KindWorld     Kind = "world"     // P World, if Setup asks for it
	KindListen    Kind = "listen"    // P Address, for links over TCP
	// H Process, Incarnation, and one descriptor: the link to that process on the same
	// host; or Text: the reason why there is none.
	KindLink Kind = "link"
	// H one descriptor: the memory that the replicas of the rank share on this host; or
	// Text: the reason why there is none.
	KindArena Kind = "arena"
	KindStart Kind = "start" // H Peers: all processes have joined
	// H Peers: the peer of a new link. A descriptor follows, unless the link is over TCP or
	// made at its first use.
	KindConnect Kind = "connect"
	KindWant    Kind = "want"    // P Process, Incarnation: first use of the link to that process; the agent answers with KindLink
	KindVerdict Kind = "verdict" // H Verdict
	KindHandled Kind = "handled" // P Epoch: the process has handled that verdict
	KindStats   Kind = "stats"   // P Stats
	KindTrace   Kind = "trace"   // P Trace
	KindFired   Kind = "fired"   // P Kill, Stats: the process kills itself now
	KindSuspect Kind = "suspect" // P Process, Incarnation, Text: the link to it has ended
	KindMended  Kind = "mended"  // P Process, Incarnation: the link to it works again
	KindFinish  Kind = "finish"  // P Stats: run returned nil
	KindDrained Kind = "drained" // P: after finish, all messages of the process have been received
	KindFail    Kind = "fail"    // P Failure, Stats
	KindOrder   Kind = "order"   // H Order
	KindReply   Kind = "reply"   // P Reply
	KindRelease Kind = "release" // H
	KindEnd     Kind = "end"     // H Code, Text
)

// Message is one message of the control connection. Kind determines which fields are set.
type Message struct {
	Kind        Kind     `json:"kind"`
	Version     int      `json:"version,omitempty"`
	Nonce       []byte   `json:"nonce,omitempty"`
	MAC         []byte   `json:"mac,omitempty"`
	Hello       *Hello   `json:"hello,omitempty"`
	Setup       *Setup   `json:"setup,omitempty"`
	World       *World   `json:"world,omitempty"`
	Address     string   `json:"address,omitempty"`
	Process     *Process `json:"process,omitempty"`
	Incarnation uint32   `json:"incarnation,omitempty"` // incarnation of Process
	Peers       []Peer   `json:"peers,omitempty"`
	Verdict     *Verdict `json:"verdict,omitempty"`
	Epoch       uint64   `json:"epoch,omitempty"` // epoch of a verdict; in Setup, of the last verdict that does not concern the process
	Kill        *Kill    `json:"kill,omitempty"`
	Failure     *Failure `json:"failure,omitempty"`
	Stats       *Stats   `json:"stats,omitempty"`
	Trace       []byte   `json:"trace,omitempty"`
	Order       *Order   `json:"order,omitempty"`
	Reply       *Reply   `json:"reply,omitempty"`
	Code        int      `json:"code,omitempty"`
	Text        string   `json:"text,omitempty"`
	Files       int      `json:"files,omitempty"` // number of descriptors that are attached
	// Ago is the age of a message that an agent sends again to a successor of the head, by
	// the agent's clock.
	Ago time.Duration `json:"ago,omitempty"`
}

// Setup describes the slot of a process in the job.
type Setup struct {
	Self        Process `json:"self"`
	Incarnation uint32  `json:"incarnation"` // incarnation of this process, from 1
	Degrees     []int   `json:"degrees"`
	Check       bool    `json:"check,omitempty"`
	Sched       string  `json:"sched,omitempty"`  // "", static, adaptive, replicate
	Listen      string  `json:"listen,omitempty"` // address for links over TCP; "": the process needs none
	MPI         bool    `json:"mpi,omitempty"`    // the process joins MPI_COMM_WORLD
	TLS         bool    `json:"tls,omitempty"`    // links over TCP are encrypted
	Limit       float64 `json:"limit,omitempty"`  // bandwidth of a link, in bytes per second; 0: unlimited
	Trace       bool    `json:"trace,omitempty"`
	Direct      bool    `json:"direct,omitempty"`  // the user has requested that results are stored into other replicas' arrays
	Threads     int     `json:"threads,omitempty"` // workers that run tasks; 0 means 1
	Kills       []Kill  `json:"kills,omitempty"`   // counted kill points of this process
	Flips       []Flip  `json:"flips,omitempty"`   // requested bit flips of this process
	Again       []Again `json:"again,omitempty"`   // requested runs from a safe point, alone
	// Lag is the age that an image of the registered state may reach in a job that keeps results on
	// the replica that has computed them; 0: none are kept. Stale, for tests: a process overwrites
	// the results that it lacks.
	Lag   time.Duration `json:"lag,omitempty"`
	Stale bool          `json:"stale,omitempty"`
	// Ordered: the replicas of a rank agree on the order of messages even if the program asserts
	// that this is not needed, since processes may run again alone.
	Ordered bool `json:"ordered,omitempty"`
	// Verify selects the tasks that all replicas run and compare; nil: none.
	Verify *Verification `json:"verify,omitempty"`
	// Together: the rank has several replicas, and all began on one host. Replicas on one
	// host share memory; the message about it (KindArena) follows this one.
	Together bool `json:"together,omitempty"`
	// Diverge is the reaction if replicas of a rank differ; empty: they are not compared.
	Diverge Diverge `json:"diverge,omitempty"`
	// Counters names the counters of tasks. The replicas of a rank count together.
	Counters []string `json:"counters,omitempty"`
	// Ahead bounds the bytes of messages to a rank that a process keeps. With a higher
	// bound it need not wait for a slow replica of that rank. 0: the default.
	Ahead int `json:"ahead,omitempty"`
	// Joiner: the process receives its state from another replica. Recovery: the process
	// reports its first safe point. Next is the first planned cut.
	Joiner   bool   `json:"joiner,omitempty"`
	Recovery bool   `json:"recovery,omitempty"`
	Next     uint64 `json:"next,omitempty"`

	// Job distinguishes this job from others: all its processes have the same number. It is not
	// sent, since it follows from the secret.
	Job uint32 `json:"-"`

	Files   *Files   `json:"files,omitempty"`   // nil: none are written
	Restart *Restart `json:"restart,omitempty"` // nil: the program begins at its start
}

// Peer is another process of the job that has joined.
type Peer struct {
	Process     Process `json:"process"`
	Incarnation uint32  `json:"incarnation"`
	Link        string  `json:"link"`              // kind of the link to the peer: shm, unix, tcp, mpi
	OnUse       bool    `json:"on_use,omitempty"`  // the link is made at its first use
	Address     string  `json:"address,omitempty"` // address on which the peer listens, for TCP
	World       int     `json:"world,omitempty"`   // rank of the peer in MPI_COMM_WORLD, for MPI
}

var (
	// ErrMessage marks bytes that are not a message of the control connection.
	ErrMessage = errors.New("malformed control message")
	// ErrTooLarge marks a message that was not sent because it is longer than MaxMessage.
	// The connection stays usable.
	ErrTooLarge = errors.New("control message too large")
)

// Encode returns the message in the form that DecodeMessage decodes. The error wraps
// ErrTooLarge if that is longer than MaxMessage.
func (m *Message) Encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode message %q: %w", m.Kind, err)
	}
	if len(b) > MaxMessage {
		return nil, fmt.Errorf("%w: %q has %d bytes, at most %d are allowed", ErrTooLarge, m.Kind, len(b), MaxMessage)
	}
	return b, nil
}

// DecodeMessage decodes one message. It checks that all fields that the kind requires are
// set, so that readers need not check for nil.
func DecodeMessage(b []byte) (*Message, error) {
	m := new(Message)
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if dec.More() {
		return nil, fmt.Errorf("%w: bytes after its end", ErrMessage)
	}
	ok := m.Files == 0
	switch m.Kind {
	case KindOpen:
		ok = ok && len(m.Nonce) == secretSize
	case KindChallenge:
		ok = ok && len(m.Nonce) == secretSize && len(m.MAC) == secretSize
	case KindJoin:
		ok = ok && len(m.MAC) == secretSize && m.Hello != nil
	case KindSetup:
		ok = ok && m.Setup != nil && m.Setup.valid()
	case KindWorld:
		ok = ok && m.World != nil
	case KindListen:
		ok = ok && m.Address != ""
	case KindLink:
		ok = m.Process != nil && (m.Files == 1 || m.Files == 0 && m.Text != "")
	case KindArena:
		ok = m.Files == 1 || m.Files == 0 && m.Text != ""
	case KindConnect:
		ok = len(m.Peers) == 1 && (m.Files == 0) == (m.Peers[0].Link == LinkTCP || m.Peers[0].OnUse) && m.Files <= 1
	case KindVerdict:
		ok = ok && m.Verdict != nil
	case KindHandled:
		ok = ok && m.Epoch > 0
	case KindStats, KindFinish:
		ok = ok && m.Stats != nil
	case KindFired:
		ok = ok && m.Stats != nil && m.Kill != nil
	case KindFail:
		ok = ok && m.Stats != nil && m.Failure != nil
	case KindOrder:
		ok = ok && m.Order != nil
	case KindReply:
		ok = ok && m.Reply != nil
	case KindSuspect, KindMended, KindWant:
		ok = ok && m.Process != nil
	case KindTrace, KindDrained, KindReject, KindRefuse, KindStart, KindRelease, KindEnd:
	default:
		return nil, fmt.Errorf("%w: unknown kind %q", ErrMessage, m.Kind)
	}
	if !ok {
		return nil, fmt.Errorf("%w: incomplete %q", ErrMessage, m.Kind)
	}
	return m, nil
}

// valid reports whether the process belongs to the job and all counts are possible.
func (s *Setup) valid() bool {
	for _, d := range s.Degrees {
		if d < 1 {
			return false
		}
	}
	p := s.Self
	if s.Restart != nil && len(s.Restart.Set.Files) != len(s.Degrees) {
		return false
	}
	return s.Threads >= 0 && p.Rank >= 0 && p.Rank < len(s.Degrees) && p.Replica >= 0 && p.Replica < s.Degrees[p.Rank]
}
