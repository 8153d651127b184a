package launch

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/agent/jobsocket"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

// askDrain is the start of intrarun drain's question. A drain follows in JSON.
const askDrain = "drain "

// drain is a request of intrarun drain.
type drain struct {
	What   string        `json:"what"` // name of a host, or of a process like 0.1
	Within time.Duration `json:"within,omitempty"`
}

// First words of the answers to askDrain.
const (
	drainBegun   = "begun "
	drainRefused = "refused "
)

// drain answers the question of intrarun drain.
func (d *driver) drain(question string) string {
	var q drain
	if err := json.Unmarshal([]byte(strings.TrimPrefix(question, askDrain)), &q); err != nil {
		return drainRefused + err.Error()
	}
	e := head.Leave{Reason: "intrarun drain", Within: q.Within}
	for _, h := range d.head.Hosts() {
		if h.Name == q.What {
			e.Node = h.ID
		}
	}
	if e.Node == 0 {
		p, err := job.ParseProcess(q.What)
		if err != nil {
			return drainRefused + fmt.Sprintf("%s is neither a host of the job nor a process: want one like 0.1 (RANK.REPLICA)", q.What)
		}
		var ok bool
		if e.Incarnation, ok = d.head.Lives(p); !ok {
			return drainRefused + fmt.Sprintf("no process %v lives", p)
		}
		e.Process = p
	}
	if err := d.head.MayLeave(e.Node, e.Process); err != nil {
		return drainRefused + err.Error()
	}
	d.step(e)
	return drainBegun + "the processes move at their next safe points: intrarun status shows them"
}

// AskDrain makes a host, or a process, leave a job of this user whose head runs on this host
// as process pid. It returns the answer of the job.
func AskDrain(pid int, what string, within time.Duration) (string, error) {
	q, err := json.Marshal(drain{what, within})
	if err != nil {
		return "", err
	}
	answer, err := jobsocket.Ask(pid, askDrain+string(q))
	if err != nil {
		return "", err
	}
	if text, ok := strings.CutPrefix(answer, drainBegun); ok {
		return text + "\n", nil
	}
	if text, ok := strings.CutPrefix(answer, drainRefused); ok {
		return "", fmt.Errorf("%s", text)
	}
	return "", fmt.Errorf("process %d has not answered: the job may have just ended, or be of another version", pid)
}
