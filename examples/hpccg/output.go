package main

import (
	"encoding/binary"
	"fmt"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/file"
)

// fieldEvery is the number of passes after which the field is written again.
const fieldEvery = 10

// output writes the files that the user has requested: x, and a log with a line for each
// pass.
type output struct {
	p     *intra.Process
	field string     // "": not written
	log   *file.File // of rank 0; nil: not written
}

// newOutput opens the log. In a restored process the log continues at the saved position.
func newOutput(p *intra.Process, field, log string) (*output, error) {
	o := &output{p: p, field: field}
	if log == "" || p.Rank() > 0 {
		return o, nil
	}
	var err error
	o.log, err = file.Append(p, nil, log)
	return o, err
}

// pass writes the output that is due after a pass.
func (o *output) pass(pass int, norm float64, x []float64) error {
	if o.log != nil {
		if _, err := fmt.Fprintf(o.log, "%d %v\n", pass, norm); err != nil {
			return err
		}
	}
	if pass%fieldEvery != 0 {
		return nil
	}
	return o.write(x)
}

// write writes x of all ranks, in rank order, as one new file.
func (o *output) write(x []float64) error {
	if o.field == "" {
		return nil
	}
	if err := intra.Fetch(o.p, x); err != nil {
		return err
	}
	b, err := binary.Append(make([]byte, 0, 8*len(x)), binary.LittleEndian, x)
	if err != nil {
		return err
	}
	f, err := file.Create(o.p, o.p.World(), o.field)
	if err != nil {
		return err
	}
	// All ranks get the error of one rank, and Close returns it again.
	_ = f.WriteAtAll(b, int64(o.p.Rank())*int64(len(b)))
	return f.Close()
}

// close writes the result and closes the log.
func (o *output) close(x []float64) error {
	if err := o.write(x); err != nil {
		return err
	}
	if o.log == nil {
		return nil
	}
	return o.log.Close()
}
