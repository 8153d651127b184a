package filebench

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/file"
)

// Ranks is the number of ranks, and of plain processes, that write a file.
const Ranks = 2

// Job describes the file that the processes write repeatedly, in one of the compared ways.
type Job struct {
	Name  string // name of the file; each written file replaces the earlier one
	Bytes int64  // size of the file, a multiple of Ranks*Calls
	Calls int    // number of calls in which each rank writes its part
}

// Times are the seconds that one file took.
type Times struct {
	Write float64 `json:"write"` // the calls that write, without an fsync
	Whole float64 `json:"whole"` // from the creation of the file until its name is durable
}

// part returns the bytes that a rank writes, and their offset.
func (j Job) part(rank int) ([]byte, int64) {
	n := j.Bytes / Ranks
	b := make([]byte, n)
	x := uint32(rank) + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b, int64(rank) * n
}

// calls calls write for each of the calls that write b at an offset.
func (j Job) calls(b []byte, at int64, write func(b []byte, at int64) error) error {
	n := len(b) / j.Calls
	for range j.Calls {
		if err := write(b[:n], at); err != nil {
			return err
		}
		b, at = b[n:], at+int64(n)
	}
	return nil
}

// Program is the program of a job. For each line that rank 0 reads, the ranks write the
// file, and rank 0 prints the times.
func Program(p *intra.Process, j Job, in io.Reader, out io.Writer) error {
	part, at := j.part(p.Rank())
	lines := bufio.NewScanner(in)
	for {
		more := []bool{p.Rank() == 0 && lines.Scan()}
		if err := comm.Bcast(p.World(), more, 0); err != nil || !more[0] {
			return err
		}
		began := time.Now()
		f, err := file.Create(p, p.World(), j.Name)
		if err != nil {
			return err
		}
		made := time.Now()
		if err := j.calls(part, at, f.WriteAtAll); err != nil {
			return err
		}
		write := time.Since(made)
		if err := f.Close(); err != nil {
			return err
		}
		t := Times{write.Seconds(), time.Since(began).Seconds()}
		if t, err = intra.Once(p, func() (Times, error) { return t, nil }); err != nil { // the replicas must print the same line
			return err
		}
		if p.Rank() > 0 {
			continue
		}
		if err := json.NewEncoder(out).Encode(t); err != nil {
			return err
		}
	}
}
