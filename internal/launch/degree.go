package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/intrahpc/intra/internal/agent/jobsocket"
	"github.com/intrahpc/intra/internal/head"
)

// askDegree begins the question of intrarun degree. The numbers of replicas follow in JSON, by
// rank.
const askDegree = "degree "

// First words of the answers to askDegree.
const (
	degreeSet     = "set "
	degreeRefused = "refused "
)

// degree answers the question of intrarun degree.
func (d *driver) degree(question string) string {
	e := head.SetDegrees{Reason: "intrarun degree"}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(question, askDegree)), &e.Degrees); err != nil {
		return degreeRefused + err.Error()
	}
	if err := d.head.MayDegrees(e.Degrees); err != nil {
		return degreeRefused + err.Error()
	}
	d.step(e)
	return degreeSet + "replicas join and leave at the next safe points: intrarun status shows them"
}

// AskDegree sets how many replicas ranks are to have in a job of this user whose head runs on
// this host as process pid. It returns the answer of the job.
func AskDegree(pid int, degrees map[int]int) (string, error) {
	q, err := json.Marshal(degrees)
	if err != nil {
		return "", err
	}
	answer, err := jobsocket.Ask(pid, askDegree+string(q))
	if err != nil {
		return "", err
	}
	if text, ok := strings.CutPrefix(answer, degreeSet); ok {
		return text + "\n", nil
	}
	if text, ok := strings.CutPrefix(answer, degreeRefused); ok {
		return "", errors.New(text)
	}
	return "", fmt.Errorf("process %d has not answered: the job may have just ended, or be of another version", pid)
}
