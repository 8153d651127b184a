package agentd

import (
	"encoding/json"

	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/job"
)

// The types in this file are the JSON messages between head and agents.

// StartPlan is the head's first frame.
type StartPlan struct {
	Plan      supervise.Plan `json:"plan"`
	Processes int            `json:"processes"`      // number of processes that this agent starts
	Link      string         `json:"link"`           // kind of link between them
	Hash      string         `json:"hash,omitempty"` // hash of the program, if the head sends it to agents that lack it
}

// Readiness is the agent's answer to StartPlan. The agent sends it again when it has received the program.
type Readiness struct {
	Address  string `json:"address"`  // address of this host, as the head sees it
	Port     int    `json:"port"`     // port of the socket for beats
	Takeover int    `json:"takeover"` // the port on which it listens if it becomes the head
	Lacks    bool   `json:"lacks"`    // the head has to send the program
	Error    string `json:"error,omitempty"`
}

// StartResult is the result of the start of a process.
type StartResult struct {
	PID   int    `json:"pid"`
	Error string `json:"error,omitempty"`
}

// FirstAgent is the ID of the first agent's node.
const FirstAgent = 2

// NodeConfig is an agent's node of the arbiter, and the roster of all nodes.
type NodeConfig struct {
	Self     arbiter.ID     `json:"self"`
	Roster   []arbiter.Peer `json:"roster"`
	Takeover *TakeoverInfo  `json:"takeover,omitempty"` // nil if the job ends with the head
	Rarer    int            `json:"rarer,omitempty"`
	Guest    bool           `json:"guest,omitempty"` // the host joins the running job; the roster is that of the start

	// Leader and Term are the node and the term of the present head, for a host that joins a
	// running job. Both are 0 while the first head decides.
	Leader arbiter.ID `json:"leader,omitempty"`
	Term   uint64     `json:"term,omitempty"`
}

// TakeoverInfo is the information that a head that takes over needs besides the decisions so
// far. The first head makes it, and every agent has it.
type TakeoverInfo struct {
	Job       json.RawMessage       `json:"config"`    // configuration of the head
	Hosts     []job.Host            `json:"hosts"`     // hosts of the agents, in the order of their nodes
	Addresses map[arbiter.ID]string `json:"addresses"` // the addresses of each agent as the head
	Output    string                `json:"output"`    // prefix of the files for output; "": output goes to the agent's own standard output
}

// host returns the name of a node's host.
func (i *TakeoverInfo) host(id arbiter.ID, roster []arbiter.Peer) string {
	if at := int(id) - FirstAgent; at >= 0 && at < len(i.Hosts) {
		return i.Hosts[at].Name
	}
	return roster[0].Host
}

// Resync is the report that an agent sends to a head that takes over. After it, the agent repeats
// the messages that it sent to the lost head. The intrarun that the user started sends one, too, if
// it has handed over.
type Resync struct {
	Term      uint64              `json:"term"` // the term in which the agent considers the receiver the head
	Processes []ProcessResync     `json:"processes"`
	Written   [][2]output.Written `json:"written,omitempty"` // by rank: up to where that intrarun has written each stream
}

// ProcessResync is the part of a Resync about one process. Its repeated output begins at From,
// and its rank's output has been written up to Out.
type ProcessResync struct {
	agentlog.State
	From [output.Crashes]output.Written `json:"from"`
	Out  [output.Crashes]output.Written `json:"out"`
}

// Of returns the name of the process in frames.
func (x *ProcessResync) Of() agentwire.Name { return agentwire.Name(x.Name()) }

// OutputResume is the position at which the output of a process continues, in a generation.
// Anew means that output after that position is written again.
type OutputResume struct {
	Generation uint32          `json:"generation"`
	Position   output.Position `json:"position"`
	Anew       bool            `json:"anew,omitempty"`
}
