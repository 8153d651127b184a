package job

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/transport"
)

// Recovery: the head stops all processes at the same safe point, the cut, and
// lets lost replicas join, has backups made, or sends everybody back to one.
// What head and processes say to each other about it are orders and replies.

// OrderKind names what the head wants.
type OrderKind string

// The orders.
const (
	OrderDonate   OrderKind = "donate"   // Process: copy state to this joiner ahead of the cut; answer Copied
	OrderAsk      OrderKind = "ask"      // Round: answer Count, and wait at the next safe point
	OrderCutAt    OrderKind = "cut"      // Number: the cut is at that safe point
	OrderCancel   OrderKind = "cancel"   // there will be no cut: a rank has finished
	OrderTransfer OrderKind = "transfer" // Number, Process: in the cut, give this joiner state and position
	OrderAdmit    OrderKind = "admit"    // Number, Joined: these joiners live from here on; answer Admitted
	OrderGo       OrderKind = "go"       // Number, Next, Plan, Set, Savers: leave the cut
	OrderComplete OrderKind = "complete" // Number, Older: the backup is at all its holders, others but Older are void
	OrderRenew    OrderKind = "renew"    // Number, Rank, Process: give this process the copy of the rank
	OrderRollback OrderKind = "rollback" // Generation, Number, Older, Peers, Deals: back to that cut; answer Ready
	OrderResume   OrderKind = "resume"   // Generation: all are back
	OrderFail     OrderKind = "fail"     // Generation: the job does not go back for what has made the program fail (Doubt)
)

// Order is what the head tells a process to do about recovery. It is an Event.
type Order struct {
	Kind       OrderKind `json:"kind"`
	Generation uint32    `json:"generation,omitempty"`
	Number     uint64    `json:"number,omitempty"` // of a safe point, from 1
	Round      uint64    `json:"round,omitempty"`  // tells one ask from the next
	Next       uint64    `json:"next,omitempty"`   // the next planned cut; 0 = none is planned
	Process    Process   `json:"process"`
	Rank       int       `json:"rank,omitempty"`
	Joined     []Peer    `json:"joined,omitempty"`
	Peers      []Peer    `json:"peers,omitempty"` // all that take part in a rollback
	Plan       []Copy    `json:"plan,omitempty"`  // one per rank
	Deals      []Deal    `json:"deals,omitempty"`
	Set        uint64    `json:"set,omitempty"`       // of files to be written; 0 = none
	Savers     []Process `json:"savers,omitempty"`    // who writes them, one per rank
	Scattered  []int     `json:"scattered,omitempty"` // ranks with replicas on several hosts, from an Admit or a Rollback on
	Older      []uint64  `json:"older,omitempty"`     // complete backups from before Number that are kept too
	Entire     bool      `json:"entire,omitempty"`    // where tasks are sampled: all are compared from this Go on
}

// Copy is the plan for the backup of one rank: the process that copies its
// state, and the one that holds it too.
type Copy struct {
	Source Process `json:"source"`
	Holder Process `json:"holder"`
}

// Deal says who gives a process its state in a rollback. From is the process
// itself if it holds a copy.
type Deal struct {
	From Process `json:"from"`
	To   Process `json:"to"`
}

func (Order) event() {}

func (o Order) String() string {
	return fmt.Sprintf("%s number %d generation %d process %v", o.Kind, o.Number, o.Generation, o.Process)
}

// Connected is the event that a process has come which replaces a dead one:
// here is the link to it, not yet started. Answer Linked.
type Connected struct {
	Process     Process
	Incarnation uint32
	Link        transport.Link
}

func (Connected) event() {}

// ReplyKind names what a process says.
type ReplyKind string

// The replies.
const (
	ReplyFirst    ReplyKind = "first"    // it has reached its first safe point
	ReplyLinked   ReplyKind = "linked"   // Process: has its link to this joiner
	ReplyCopied   ReplyKind = "copied"   // Process: this joiner has a copy of all state, as of some safe points
	ReplyCount    ReplyKind = "count"    // Round, Number: safe points entered so far
	ReplyDrained  ReplyKind = "drained"  // Number: in the cut, with everything here that was sent before it
	ReplyJoined   ReplyKind = "joined"   // Number, Bytes: a joiner has its state
	ReplyAdmitted ReplyKind = "admitted" // Number: the joiners are known here
	ReplyStored   ReplyKind = "stored"   // Number, Rank: holds the copy of this rank
	ReplySaved    ReplyKind = "saved"    // Set, Number: the File of its rank is written, or not, because of Text
	ReplyReady    ReplyKind = "ready"    // Generation, Number: back at the cut, nothing of the life before is on its way here
)

// Reply is what a process tells the head about recovery.
type Reply struct {
	Kind        ReplyKind `json:"kind"`
	Generation  uint32    `json:"generation,omitempty"`
	Number      uint64    `json:"number,omitempty"`
	Round       uint64    `json:"round,omitempty"` // of the ask that Count answers
	Process     Process   `json:"process"`
	Incarnation uint32    `json:"incarnation,omitempty"` // of Process
	Rank        int       `json:"rank,omitempty"`
	Seconds     float64   `json:"seconds,omitempty"` // what a backup has held up the program
	Bytes       int64     `json:"bytes,omitempty"`   // of state

	// Of one that is in the cut: the sections behind it, and the signature of all
	// of them; and the newest safe point by which no replica of its rank was defective
	// yet, as far as comparing tells; 0: none.
	Sections  uint64 `json:"sections,omitempty"`
	Signature uint64 `json:"signature,omitempty"`
	Sure      uint64 `json:"sure,omitempty"`
	State     uint64 `json:"state,omitempty"` // hash of its registered state, 0: it was not taken

	Set  uint64           `json:"set,omitempty"`
	File *checkpoint.File `json:"file,omitempty"`
	Text string           `json:"text,omitempty"`
}
