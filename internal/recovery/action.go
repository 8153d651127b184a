package recovery

import (
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// ActionKind names an action.
type ActionKind uint8

// The actions.
const (
	Send    ActionKind = iota // give Order to process To
	Start                     // get a process for the slot of To, as this Incarnation: a spare if there is one
	Relieve                   // like Start, on another host: it takes over from the live process of the slot
	Connect                   // make links between the joiner To and all Peers, which answer Linked
	Dismiss                   // the joiner To is not needed any more
	Lose                      // give up: Loss says why
	Publish                   // make the Set of Files complete and call Published
	Abandon                   // the Set will not be complete, for the reason Why
	Later                     // call Conclude after Pause
	Keep                      // keep Decision where a successor finds it; the next actions and all events wait for that
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
