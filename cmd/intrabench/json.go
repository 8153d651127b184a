//go:build linux

package main

import (
	"flag"

	"github.com/intrahpc/intra/cmd/intrabench/internal/results"
)

// jsonFile is the file that -json names, or none.
type jsonFile struct {
	name  string
	begun *results.Begun
	err   error // why the measurement could not begin
}

// jsonFlag defines -json. The measurement begins with this call; args are its arguments.
func jsonFlag(fs *flag.FlagSet, args []string) *jsonFile {
	j := new(jsonFile)
	fs.StringVar(&j.name, "json", "", "write everything measured to `FILE`, with the machine, the time and the command")
	j.begun, j.err = results.Begin(fs.Name(), args)
	return j
}

// write writes the result of the measurement, if -json was given.
func (j *jsonFile) write(result any) error {
	if j.name == "" {
		return nil
	}
	if j.err != nil {
		return j.err
	}
	return j.begun.Write(j.name, result)
}
