package timeline

// Kind is the kind of an event.
type Kind uint8

// The kinds of events, with the fields that they use besides At, Lasted and
// Place.
const (
	noKind   Kind = iota
	Section       // Number; shared with other replicas
	Task          // Name is the kernel, Number the section, Tag the task, Worker the one that ran it
	Wait          // Name is the kernel whose updates a section waits for; without a section, the process waits for messages
	Sent          // an update to Replica begins to be sent; Name is the kernel, Number the section, Tag the task, Bytes the size
	Received      // an update from Replica was received; fields as for Sent
	Call          // Name is the function of package comm; if the call has a peer, Rank, Tag and Bytes are those of the message
	Message       // a message is sent to Rank.Replica; Context and Number identify it, Tag and Bytes are its tag and size
	Match         // a receive matches a message from Rank.Replica; fields as for Message
	Point         // the process passes safe point Number
	Cut           // Name is a step of the process at safe point Number
	State         // a state is sent to Rank.Replica; Name is its purpose, Number its safe point, Bytes its size
	Join          // a new process receives its state, up to safe point Number
	Rollback      // the process rolls back to safe point Number
	Again         // the process runs again, alone, from safe point Number to the point that it had reached
	Verdict       // this process has learned that Rank.Replica is dead
	Memory        // Bytes is the memory in RAM, Number the size of the heap, Context the size of logged messages
	Death         // the head has declared Rank.Replica dead; Name is the cause
	Note          // Name is a decision or an observation of the head
	kinds
)

// categories are the names of the kinds in the file. An arrow has the category of
// the events that it joins.
var categories = [kinds]string{
	Section: "section", Task: "task", Wait: "wait", Sent: "update", Received: "update", Call: "call", Message: "message", Match: "message",
	Point: "safe point", Cut: "cut", State: "state", Join: "join", Rollback: "rollback", Again: "second run", Verdict: "verdict", Memory: "memory", Death: "death", Note: "job",
}

// String returns the category of k.
func (k Kind) String() string { return categories[k] }

// None is the Rank of an event that concerns no particular rank, and the Tag of an event
// without a tag.
const None = -1

// Event is something that happened at one moment, or over a period.
type Event struct {
	Kind          Kind
	Worker        int32
	Rank, Replica int32 // rank and replica of the other process
	At, Lasted    int64 // nanoseconds; At is by the clock of the host
	Name, Place   string
	Tag           int64
	Number        uint64
	Context       uint64
	Bytes         int64
}
