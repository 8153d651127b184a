package job

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Clone makes a tool, such as strace or perf record, start a process.
type Clone struct {
	Process Process  `json:"process"`
	Command []string `json:"command"`
}

// ProgramWord stands for the program in a command. The program's arguments follow at the
// end of the command.
const ProgramWord = "{program}"

// ParseClone parses RANK.REPLICA=COMMAND. The words of the command are separated by spaces.
func ParseClone(s string) (Clone, error) {
	who, command, ok := strings.Cut(s, "=")
	if !ok {
		return Clone{}, fmt.Errorf("%q is not a clone: want RANK.REPLICA=COMMAND, like '0.1=strace -f -o trace'", s)
	}
	p, err := ParseProcess(who)
	if err != nil {
		return Clone{}, err
	}
	c := Clone{Process: p, Command: strings.Fields(command)}
	if len(c.Command) == 0 || c.Command[0] == ProgramWord {
		return Clone{}, fmt.Errorf("%q names no command: want RANK.REPLICA=COMMAND, like '0.1=strace -f -o trace'", s)
	}
	return c, nil
}

func (c Clone) String() string { return fmt.Sprintf("%v=%s", c.Process, c.Tool()) }

// Tool returns the command as the user gave it.
func (c Clone) Tool() string { return strings.Join(c.Command, " ") }

// Find returns the path of the command.
func (c Clone) Find() (path string, err error) {
	if path, err = exec.LookPath(c.Command[0]); err != nil {
		return "", fmt.Errorf("-clone %v: %w", c, err)
	}
	return path, nil
}

// Args returns the argument vector: the command, with program in place of ProgramWord or
// after the command, and args.
func (c Clone) Args(program string, args []string) []string {
	all := slices.Clone(c.Command)
	if at := slices.Index(all, ProgramWord); at >= 0 {
		all[at] = program
	} else {
		all = append(all, program)
	}
	return append(all, args...)
}

// CloneOf returns the Clone for process p.
func CloneOf(all []Clone, p Process) (Clone, bool) {
	i := slices.IndexFunc(all, func(c Clone) bool { return c.Process == p })
	if i < 0 {
		return Clone{}, false
	}
	return all[i], true
}
