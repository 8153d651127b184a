package recovery

import (
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// ActionKind names an action.
type ActionKind uint8

// The actions that the driver takes.
const (
	Send    ActionKind = iota // give Order to process To
	Start                     // get a process for the slot of To, as this Incarnation; use a spare if there is one
	Relieve                   // get a process on another host, which takes over from the live process in the slot of To
	Connect                   // make links between the joiner To and all Peers, which answer Linked
	Dismiss                   // end the joiner To, which is no longer needed
	Lose                      // end the job for the reason Loss
	Publish                   // complete the Set of Files and call Published
	Abandon                   // abandon the Set, which cannot become complete for the reason Why
	Later                     // call Conclude after Pause
	Keep                      // keep Decision where a successor finds it; delay the next actions and all events until it is kept
)

// Action is one step that the driver takes for the Head.
type Action struct {
	Kind        ActionKind
	To          job.Process
	Incarnation uint32
	Order       job.Order
	Peers       []job.Endpoint
	Why         string
	Pause       time.Duration
	Set         uint64
	Cut         uint64
	Files       []checkpoint.File
	Loss        *Loss

	Decision *Decision
}
