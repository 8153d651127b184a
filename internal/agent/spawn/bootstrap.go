package spawn

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Bootstrap is the start information of an agent: its job, and how to reach the head. The
// agent reads it from standard input, in JSON.
type Bootstrap struct {
	Version   int        `json:"version"`
	Secret    job.Secret `json:"secret"`
	Name      string     `json:"name"`      // name of the agent's host
	Addresses []string   `json:"addresses"` // addresses of the head; one of them is reachable
	TLS       bool       `json:"tls"`
	// Patience bounds how long the agent tries to connect.
	Patience time.Duration `json:"patience"`
	// Silence, if not 0, bounds how long the agent tries while no connection is accepted. The
	// head was listening before the agent started, so in that case it must have ended.
	Silence time.Duration `json:"-"`

	// Join describes the host if it joins a running job; nil: it belongs to the job from the
	// start.
	Join *job.Host `json:"join,omitempty"`

	// Below lists the hosts whose agents this one starts, directly or through
	// others.
	Below   []string `json:"below,omitempty"`
	Fanout  int      `json:"fanout,omitempty"`
	Shell   string   `json:"shell,omitempty"` // template of a command on another host, "" if there is none
	Agent   []string `json:"agent,omitempty"` // command of an agent
	Verbose bool     `json:"verbose,omitempty"`
}

// hostPlace stands for the name of the host in the template of a remote command.
const hostPlace = "{host}"

// ThisHost is the name of a host that needs no remote command.
const ThisHost = "localhost"

// Command returns the command that starts an agent on a host. On this host that is the agent's own
// command. On other hosts it follows the template.
func (s *Bootstrap) Command(host string) ([]string, error) {
	if host == ThisHost || s.Shell == "" {
		return s.Agent, nil
	}
	words, err := splitQuoted(s.Shell)
	if err != nil {
		return nil, fmt.Errorf("-rsh: %w", err)
	}
	if len(words) == 0 || !strings.Contains(s.Shell, hostPlace) {
		return nil, fmt.Errorf("-rsh %q: want a command with %s in it, like ssh %[2]s", s.Shell, hostPlace)
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], hostPlace, host)
	}
	agent := slices.Clone(s.Agent)
	if filepath.Base(words[0]) == "ssh" { // the remote shell splits the words again
		agent[0] = "'" + strings.ReplaceAll(agent[0], "'", `'\''`) + "'"
	}
	return append(words, agent...), nil
}
