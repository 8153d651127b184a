package supervise

import (
	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/job"
)

// Plan holds the settings that all processes of a job share.
type Plan struct {
	Path    string   `json:"path"` // path of the executable
	Args    []string `json:"args"` // including the program's name
	Environ []string `json:"environ"`
	Keep    bool     `json:"keep"`          // lost processes are replaced later, from the program as it is at the start
	Dir     string   `json:"dir"`           // working folder, "" for the agent's own
	Stdin   bool     `json:"stdin"`         // rank 0 has standard input
	MPI     bool     `json:"mpi,omitempty"` // the first processes use identities of the MPI launcher

	Link string `json:"link,omitempty"` // kind of the links between processes of this host
	Ring int    `json:"ring,omitempty"` // size of a shared-memory ring in bytes

	Bind      affinity.Mode `json:"bind,omitempty"`   // "": not bound
	Processes []job.Process `json:"processes"`        // processes of this host, in order
	Clones    []job.Clone   `json:"clones,omitempty"` // processes that a tool starts
}

// Role is the purpose for which a process is started.
type Role byte

// The roles.
const (
	First  Role = iota // part of the job from the beginning
	Joiner             // replaces a process
	Spare              // waits for a slot
)

// command returns the command line of a process: the program, or the tool that runs it.
// Replacements run without the tool.
func (p *Plan) command(file string, of job.Process, r Role) (path string, args []string, err error) {
	c, ok := job.CloneOf(p.Clones, of)
	if !ok || r != First {
		return file, p.Args, nil
	}
	path, err = c.Find()
	return path, c.Args(p.Path, p.Args[1:]), err
}

// cpus assigns processors to the processes of this host. If the kernel does not report the
// usable processors, no process is bound.
func (p *Plan) cpus() map[job.Process][]int {
	if p.Bind == "" || p.Bind == affinity.None {
		return nil
	}
	usable, err := affinity.Usable()
	if err != nil {
		return nil
	}
	all := make(map[job.Process][]int)
	for i, share := range affinity.Spread(p.Bind, usable, len(p.Processes)) {
		all[p.Processes[i]] = share
	}
	return all
}
