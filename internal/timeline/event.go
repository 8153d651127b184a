package timeline

// Kind tells the events of a timeline apart.
type Kind uint8

// The kinds of events, with the fields that count beside At, Lasted and Place.
const (
	noKind   Kind = iota
	Section       // Number; together with other replicas
	Task          // Name is the kernel, Number the section, Tag the task, Worker who ran it
	Wait          // Name is what for; in a section for updates, or in a call for messages
	Sent          // an update to Replica begins to leave; Name is the kernel, Number the section, Tag the task, Bytes
	Received      // an update of Replica has been taken in, as Sent
	Call          // Name is the function of package comm; Rank, Tag, Bytes if it has a peer
	Message       // a message leaves for Rank.Replica: Context and Number name it, Tag, Bytes
	Match         // a receive has a message of Rank.Replica, as Message
	Point         // safe point Number
	Cut           // Name is what is done in a safe point, Number the safe point
	State         // a state leaves for Rank.Replica: Name says what for, Number is its safe point, Bytes
	Join          // a new process gets its state, up to safe point Number
	Rollback      // back to safe point Number
	Verdict       // this process has heard that Rank.Replica is dead
	Memory        // Bytes are resident, Number is the heap, Context what is kept of messages
	Death         // Rank.Replica died, of Name; the head says so
	Note          // Name is what the head has decided or seen
	kinds
)

// categories are the kinds as the file names them. An arrow has the one of what
// it joins.
var categories = [kinds]string{
	Section: "section", Task: "task", Wait: "wait", Sent: "update", Received: "update", Call: "call", Message: "message", Match: "message",
	Point: "safe point", Cut: "cut", State: "state", Join: "join", Rollback: "rollback", Verdict: "verdict", Memory: "memory", Death: "death", Note: "job",
}

// String returns the category of k.
func (k Kind) String() string { return categories[k] }

// None is the Rank of an event that is about no other rank, or about any, and
// the Tag of one without a tag.
const None = -1

// Event is something that happened at a moment, or over a while.
type Event struct {
	Kind          Kind
	Worker        int32
	Rank, Replica int32 // of another process
	At, Lasted    int64 // nanoseconds; At is of the clock of the host
	Name, Place   string
	Tag           int64
	Number        uint64
	Context       uint64
	Bytes         int64
}
