package job

import (
	"encoding/json"
	"fmt"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/transport"
)

// Recovery: the head stops all processes at the same safe point, at a consistent cut. At
// the cut it lets replacements join and has backups copied. It may also roll back all
// processes to a backup. The messages about recovery are orders of the head and replies of
// processes.

// OrderKind names an order.
type OrderKind string

// The orders. The fields that each one uses follow.
const (
	OrderDonate   OrderKind = "donate"   // Process: send state to this joiner before the cut; answer with ReplyCopied
	OrderAsk      OrderKind = "ask"      // Round: answer with ReplyCount, and wait at the next safe point
	OrderCutAt    OrderKind = "cut"      // Number: the cut is at that safe point
	OrderCancel   OrderKind = "cancel"   // the cut is cancelled because a rank has finished
	OrderTransfer OrderKind = "transfer" // Number, Process: in the cut, send state and position to this joiner
	OrderAdmit    OrderKind = "admit"    // Number, Joined: these joiners are live from now on; answer with ReplyAdmitted
	OrderGo       OrderKind = "go"       // Number, Next, Plan, Set, Savers, Oldest: leave the cut
	OrderComplete OrderKind = "complete" // Number, Older: all holders have stored the backup; earlier ones not in Older may be discarded
	OrderRenew    OrderKind = "renew"    // Number, Rank, Process: send the copy of the rank to this process
	OrderRollback OrderKind = "rollback" // Generation, Number, Older, Peers, Deals: roll back to that cut; answer with ReplyReady
	OrderResume   OrderKind = "resume"   // Generation: all processes have rolled back
	OrderSettled  OrderKind = "settled"  // Number, Output: answers Settled
	OrderAgain    OrderKind = "again"    // Number: answers Again; what the process writes from now on begins at its output of that point
	OrderFail     OrderKind = "fail"     // Generation: the job does not roll back because of the program's failure (Dispute)
)

// Order is an order of the head to a process about recovery. It is an Event.
type Order struct {
	Kind       OrderKind       `json:"kind"`
	Generation uint32          `json:"generation,omitempty"`
	Number     uint64          `json:"number,omitempty"` // of a safe point, from 1
	Round      uint64          `json:"round,omitempty"`  // number of the request for a count
	Next       uint64          `json:"next,omitempty"`   // next planned cut; 0: none is planned
	Process    Process         `json:"process"`
	Rank       int             `json:"rank,omitempty"`
	Joined     []Peer          `json:"joined,omitempty"`
	Peers      []Peer          `json:"peers,omitempty"` // all processes that take part in a rollback
	Plan       []Copy          `json:"plan,omitempty"`  // one Copy per rank
	Deals      []Deal          `json:"deals,omitempty"`
	Set        uint64          `json:"set,omitempty"`       // set of files to write; 0: none
	Savers     []Process       `json:"savers,omitempty"`    // processes that write the set, one per rank
	Scattered  []int           `json:"scattered,omitempty"` // in Admit and Rollback: ranks that then have replicas on several hosts
	Oldest     uint64          `json:"oldest,omitempty"`    // in Go: the job rolls back to no safe point before this one; 0: unknown
	Older      []uint64        `json:"older,omitempty"`     // complete backups older than Number that are kept
	Output     json.RawMessage `json:"output,omitempty"`    // position of the output of the process
	Entire     bool            `json:"entire,omitempty"`    // if tasks are sampled: from this order on replicas compare all tasks
}

// Copy is the plan for the backup of one rank. It names the process that copies its own
// state, and the process that holds a second copy.
type Copy struct {
	Source Process `json:"source"`
	Holder Process `json:"holder"`
}

// Deal is the plan for the state of one process in a rollback: From sends the state to To.
// They are equal if the process holds a copy itself.
type Deal struct {
	From Process `json:"from"`
	To   Process `json:"to"`
}

func (Order) event() {}

func (o Order) String() string {
	return fmt.Sprintf("%s number %d generation %d process %v", o.Kind, o.Number, o.Generation, o.Process)
}

// Connected is the event that a replacement has joined. Link is the link to it, not yet
// started. The process answers with ReplyLinked.
type Connected struct {
	Process     Process
	Incarnation uint32
	Link        transport.Link
}

func (Connected) event() {}

// ReplyKind names a reply.
type ReplyKind string

// The replies. The fields that each one uses follow.
const (
	ReplyFirst    ReplyKind = "first"    // the process has reached its first safe point
	ReplyLinked   ReplyKind = "linked"   // Process, Incarnation: the sender has its end of the link to that process
	ReplyCopied   ReplyKind = "copied"   // Process: every part of the state has been sent to this joiner at least once
	ReplyCount    ReplyKind = "count"    // Round, Number: safe points entered so far
	ReplyDrained  ReplyKind = "drained"  // Number: the sender is in the cut, and has received all messages from before it
	ReplyJoined   ReplyKind = "joined"   // Number, Bytes: a joiner has its state
	ReplyAdmitted ReplyKind = "admitted" // Number: the sender has made the joiners live
	ReplyStored   ReplyKind = "stored"   // Number, Rank: the sender holds the copy of this rank
	ReplySaved    ReplyKind = "saved"    // Set, Number: the File of the rank is written; or Text: the reason why not
	ReplySettled  ReplyKind = "settled"  // Number: the sender waits at this safe point, from which it may run again alone; the answer is Settled
	ReplyAgain    ReplyKind = "again"    // Number, Output: the run of the sender has ended, and the next one begins at this safe point; the answer is Again
	ReplyReady    ReplyKind = "ready"    // Generation, Number: the sender has rolled back to the cut, and nothing from earlier generations can arrive
)

// Alone reports whether the reply is about a run of one process alone.
func (r *Reply) Alone() bool { return r.Kind == ReplySettled || r.Kind == ReplyAgain }

// Reply is a reply of a process to the head about recovery.
type Reply struct {
	Kind        ReplyKind `json:"kind"`
	Generation  uint32    `json:"generation,omitempty"`
	Number      uint64    `json:"number,omitempty"`
	Round       uint64    `json:"round,omitempty"` // round of the OrderAsk that ReplyCount answers
	Process     Process   `json:"process"`
	Incarnation uint32    `json:"incarnation,omitempty"` // incarnation of Process
	Rank        int       `json:"rank,omitempty"`
	Seconds     float64   `json:"seconds,omitempty"` // time that a backup has taken from the program
	Bytes       int64     `json:"bytes,omitempty"`   // size of the state

	// In ReplyDrained: the number of sections before the cut and their signature. Sure is
	// the last safe point at which the comparison found all replicas of the rank sound; 0:
	// none.
	Sections  uint64 `json:"sections,omitempty"`
	Signature uint64 `json:"signature,omitempty"`
	Sure      uint64 `json:"sure,omitempty"`
	State     uint64 `json:"state,omitempty"` // hash of the registered state; 0: not computed

	Set  uint64           `json:"set,omitempty"`
	File *checkpoint.File `json:"file,omitempty"`
	Text string           `json:"text,omitempty"`

	Output json.RawMessage `json:"output,omitempty"` // as in the order Settled
}
