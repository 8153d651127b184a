package spawn

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Bootstrap is what an agent reads from its standard input, in JSON: to whom it
// belongs.
type Bootstrap struct {
	Version   int        `json:"version"`
	Secret    job.Secret `json:"secret"`
	Name      string     `json:"name"`      // of its host
	Addresses []string   `json:"addresses"` // of the head; one of them is reachable
	TLS       bool       `json:"tls"`
	// Patience is how long to try.
	Patience time.Duration `json:"patience"`
	// Silence, if not 0, is for how long nothing may accept a connection: the head listens
	// already, or has ended.
	Silence time.Duration `json:"-"`

	// The hosts whose agents this one starts: the first ones, which start the
	// others.
	Below   []string `json:"below,omitempty"`
	Fanout  int      `json:"fanout,omitempty"`
	Shell   string   `json:"shell,omitempty"` // template of a command on another host, "" if there is none
	Agent   []string `json:"agent,omitempty"` // command of an agent
	Verbose bool     `json:"verbose,omitempty"`
}

// hostPlace is what a template of a remote command has for the name of a host.
const hostPlace = "{host}"

// ThisHost is the name of a host that needs no remote command.
const ThisHost = "localhost"

// Command returns what starts an agent on a host: directly on this one, through
// the template on others.
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
	if filepath.Base(words[0]) == "ssh" { // the remote shell takes the words apart
		agent[0] = "'" + strings.ReplaceAll(agent[0], "'", `'\''`) + "'"
	}
	return append(words, agent...), nil
}
