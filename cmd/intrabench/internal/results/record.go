//go:build linux

package results

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"

	"github.com/intrahpc/intra/internal/base/version"
	"github.com/intrahpc/intra/kernels"
)

// Record is a measurement, with the circumstances in which it was made.
type Record struct {
	Command  string    `json:"command"`
	Measured time.Time `json:"measured"` // when the measurement began
	Version  string    `json:"version"`
	Machine  Machine   `json:"machine"`
	// Others is the average number of cores used by other processes, and by other guests of
	// the machine, during the measurement.
	Others float64 `json:"others"`
	Result any     `json:"result"`
}

// Machine is the machine of a measurement.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Go      string `json:"go"`
	Kernels string `json:"kernels"` // the instruction set that the vector kernels use
}

// ThisMachine describes the machine on which this process runs.
func ThisMachine() Machine {
	return Machine{cpuid.CPU.BrandName, runtime.NumCPU(), runtime.Version(), kernels.Path()}
}

func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s; kernels: %s", m.CPU, m.Cores, m.Go, m.Kernels)
}

// Begun is a measurement under way. Write ends it.
type Begun struct {
	record Record
	used   usage
}

// Begin begins a measurement by a command with these arguments.
func Begin(command string, args []string) (*Begun, error) {
	b := &Begun{record: Record{Command: commandLine(command, args), Measured: time.Now().UTC().Truncate(time.Second), Version: version.Line("intrabench"), Machine: ThisMachine()}}
	var err error
	b.used, err = readUsage()
	return b, err
}

// Write writes the result to a file.
func (b *Begun) Write(name string, result any) error {
	now, err := readUsage()
	if err != nil {
		return err
	}
	b.record.Others, b.record.Result = math.Round(100*now.others(b.used))/100, result
	text, err := json.MarshalIndent(b.record, "", " ")
	if err == nil {
		err = os.WriteFile(name, append(text, '\n'), 0o666)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// commandLine formats a command for a shell, without the flags that select where output goes.
func commandLine(command string, args []string) string {
	words := []string{command}
	for i := 0; i < len(args); i++ {
		name, _, assigned := strings.Cut("-"+strings.TrimLeft(args[i], "-"), "=")
		switch {
		case args[i] == "" || args[i][0] != '-':
		case name == "-quiet":
			continue
		case name == "-json":
			if !assigned {
				i++
			}
			continue
		}
		word := args[i]
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$`*?;&|<>(){}[]#~!") {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
