package timeline

// Kind is the kind of an event.
type Kind uint8

// The kinds of events, with the fields that they use besides At, Lasted and
// Place.
const (
	noKind   Kind = iota
	Section       // Number; shared with other replicas
	Task          // Name is the kernel, Number the section, Tag the task, Worker the one that ran it
	Wait          // Name is the kernel whose updates a section waits for; in a call the process waits for messages
	Sent          // an update to Replica begins to leave; Name is the kernel, Number the section, Tag the task, Bytes
	Received      // an update from Replica was received; fields as for Sent
	Call          // Name is the function of package comm; Rank, Tag and Bytes if it has a peer
	Message       // a message leaves for Rank.Replica: Context and Number identify it, Tag, Bytes
	Match         // a receive matches a message of Rank.Replica; fields as for Message
	Point         // safe point Number
	Cut           // Name is what happens at a safe point, Number the safe point
	State         // a state leaves for Rank.Replica: Name is its purpose, Number its safe point, Bytes
	Join          // a new process gets its state, up to safe point Number
	Rollback      // back to safe point Number
	Verdict       // this process has learned that Rank.Replica is dead
	Memory        // Bytes are resident, Number is the heap, Context the bytes kept of messages
	Death         // the head has declared Rank.Replica dead; Name is the cause
	Note          // Name is a decision or an observation of the head
	kinds
)

// categories are the names of the kinds in the file. An arrow has the category of
// the events that it joins.
var categories = [kinds]string{
	Section: "section", Task: "task", Wait: "wait", Sent: "update", Received: "update", Call: "call", Message: "message", Match: "message",
	Point: "safe point", Cut: "cut", State: "state", Join: "join", Rollback: "rollback", Verdict: "verdict", Memory: "memory", Death: "death", Note: "job",
}

// String returns the category of k.
func (k Kind) String() string { return categories[k] }

// None is the Rank of an event that is about no particular rank, and the Tag of
// one without a tag.
const None = -1

// Event is something that happened at a moment, or during a time.
type Event struct {
	Kind          Kind
	Worker        int32
	Rank, Replica int32 // of another process
	At, Lasted    int64 // nanoseconds; At is by the clock of the host
	Name, Place   string
	Tag           int64
	Number        uint64
	Context       uint64
	Bytes         int64
}
