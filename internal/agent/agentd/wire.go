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

// The types in this file are what head and agents tell each other in JSON.

// StartPlan is the head's first frame.
type StartPlan struct {
	Plan      supervise.Plan `json:"plan"`
	Processes int            `json:"processes"`      // how many this agent will start
	Link      string         `json:"link"`           // kind of link between them
	Hash      string         `json:"hash,omitempty"` // of the program, if the head sends it to who lacks it
}

// Readiness is the agent's answer, and once more when it has got the program.
type Readiness struct {
	Address  string `json:"address"`  // of this host, as the head reaches it
	Port     int    `json:"port"`     // of the socket for beats
	Takeover int    `json:"takeover"` // the port for the case that it becomes the head
	Lacks    bool   `json:"lacks"`    // the program has to be sent
	Error    string `json:"error,omitempty"`
}

// StartResult says how the start of a process went.
type StartResult struct {
	PID   int    `json:"pid"`
	Error string `json:"error,omitempty"`
}

// FirstAgent is the node of the first agent.
const FirstAgent = 2

// NodeConfig tells an agent which node of the arbiter it is, and of whom.
type NodeConfig struct {
	Self     arbiter.ID     `json:"self"`
	Roster   []arbiter.Peer `json:"roster"`
	Takeover *TakeoverInfo  `json:"takeover,omitempty"` // nil if the job ends with the head
	Rarer    int            `json:"rarer,omitempty"`
}

// TakeoverInfo is what a head that takes over needs to know beside what has been
// decided. The first head makes it, and every agent has it.
type TakeoverInfo struct {
	Job       json.RawMessage       `json:"config"`    // what the head works with
	Hosts     []job.Host            `json:"hosts"`     // of the agents, in the order of their nodes
	Addresses map[arbiter.ID]string `json:"addresses"` // where each agent is reached as the head
	Output    string                `json:"output"`    // the beginning of the names of the files for output, "" for the agent's own
}

// host names the host of a node.
func (i *TakeoverInfo) host(id arbiter.ID, roster []arbiter.Peer) string {
	if at := int(id) - FirstAgent; at >= 0 && at < len(i.Hosts) {
		return i.Hosts[at].Name
	}
	return roster[0].Host
}

// Resync is what an agent tells a head that takes over, before all that it has
// told the one before.
type Resync struct {
	Term      uint64          `json:"term"` // in which it takes the other for the head
	Processes []ProcessResync `json:"processes"`
}

// ProcessResync is the part of it about one process. What is told of its output
// begins at From, and so much of its rank is Out.
type ProcessResync struct {
	agentlog.State
	From [output.Crashes]output.Written `json:"from"`
	Out  [output.Crashes]output.Written `json:"out"`
}

// Of is the name of the process in frames.
func (x *ProcessResync) Of() agentwire.Name { return agentwire.Name(x.Name()) }

// OutputResume says where the output of a process goes on, in a generation. Anew: what
// is out after that is put out again.
type OutputResume struct {
	Generation uint32          `json:"generation"`
	Position   output.Position `json:"position"`
	Anew       bool            `json:"anew,omitempty"`
}
