package job

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Flip asks for a wrong result of a task: one bit of what it has written is
// turned, after its body has returned. With a Rate it is one of many, at random.
type Flip struct {
	Process Process `json:"process"`
	Task    int64   `json:"task"` // bodies that the process has run before
	Bit     int64   `json:"bit"`  // of what the task writes; AnyBit: one that follows from Task
	Rate    float64 `json:"rate"` // 0: it happens once; else with this probability in each task
}

// AnyBit leaves open which bit is turned.
const AnyBit = -1

func (f Flip) String() string {
	switch {
	case f.Rate > 0:
		return fmt.Sprintf("%v,q=%v", f.Process, f.Rate)
	case f.Bit == AnyBit:
		return fmt.Sprintf("%v@task:%d", f.Process, f.Task)
	}
	return fmt.Sprintf("%v@task:%d:%d", f.Process, f.Task, f.Bit)
}

// ParseFlip reads RANK.REPLICA@task:N or RANK.REPLICA@task:N:BIT.
func ParseFlip(s string) (Flip, error) {
	who, where, ok := strings.Cut(s, "@task:")
	if !ok {
		return Flip{}, fmt.Errorf("%q is not a flip: want RANK.REPLICA@task:N or RANK.REPLICA@task:N:BIT, like 0.1@task:3", s)
	}
	p, err := ParseProcess(who)
	if err != nil {
		return Flip{}, err
	}
	f := Flip{Process: p, Bit: AnyBit}
	task, bit, one := strings.Cut(where, ":")
	if f.Task, err = strconv.ParseInt(task, 10, 64); err != nil || f.Task < 0 {
		return Flip{}, fmt.Errorf("%q in %q is not a count from 0", task, s)
	}
	if one {
		if f.Bit, err = strconv.ParseInt(bit, 10, 64); err != nil || f.Bit < 0 {
			return Flip{}, fmt.Errorf("%q in %q is not the number of a bit, from 0", bit, s)
		}
	}
	return f, nil
}

// ParseDefect reads RANK.REPLICA,q=RATE.
func ParseDefect(s string) (Flip, error) {
	who, rate, ok := strings.Cut(s, ",q=")
	if !ok {
		return Flip{}, fmt.Errorf("%q is not a defect: want RANK.REPLICA,q=RATE, like 0.1,q=1e-3", s)
	}
	p, err := ParseProcess(who)
	if err != nil {
		return Flip{}, err
	}
	q, err := strconv.ParseFloat(rate, 64)
	if err != nil || math.IsNaN(q) || q <= 0 || q > 1 {
		return Flip{}, fmt.Errorf("%q in %q is not a probability above 0, up to 1", rate, s)
	}
	return Flip{Process: p, Bit: AnyBit, Rate: q}, nil
}
