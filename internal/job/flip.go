package job

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// FlipPoint names the data in which a bit is flipped.
type FlipPoint string

// The points: the output of a task after its body has returned; a received update of a task
// that another replica has run; a message sent to another rank; the registered state at a
// safe point.
const (
	FlipTask    FlipPoint = "task"
	FlipUpdate  FlipPoint = "update"
	FlipMessage FlipPoint = "message"
	FlipState   FlipPoint = "state"
)

// Flip requests one bit flip or, with a Rate, flips in tasks at random.
type Flip struct {
	Process Process   `json:"process"`
	Point   FlipPoint `json:"point"`
	Count   int64     `json:"count"` // number of earlier bodies, updates, messages or safe points, depending on Point
	Bit     int64     `json:"bit"`   // number of the bit in the output, update, message or state; AnyBit: one derived from Count
	Rate    float64   `json:"rate"`  // 0: the flip happens once; otherwise its probability in each task
}

// AnyBit selects a bit that depends on Count.
const AnyBit = -1

func (f Flip) String() string {
	switch {
	case f.Rate > 0:
		return fmt.Sprintf("%v,q=%v", f.Process, f.Rate)
	case f.Bit == AnyBit:
		return fmt.Sprintf("%v@%s:%d", f.Process, f.Point, f.Count)
	}
	return fmt.Sprintf("%v@%s:%d:%d", f.Process, f.Point, f.Count, f.Bit)
}

// Fault returns the flip as a value of -fault.
func (f Flip) Fault() string {
	if f.Rate > 0 {
		return "defect:" + f.String()
	}
	return "flip:" + f.String()
}

// ParseFlip parses RANK.REPLICA@task:N or RANK.REPLICA@task:N:BIT. The point may also be
// update, message or state.
func ParseFlip(s string) (Flip, error) {
	who, what, _ := strings.Cut(s, "@")
	point, where, ok := strings.Cut(what, ":")
	if !ok || !slices.Contains([]FlipPoint{FlipTask, FlipUpdate, FlipMessage, FlipState}, FlipPoint(point)) {
		return Flip{}, fmt.Errorf("%q is not a flip: want RANK.REPLICA@task:N, @update:N, @message:N or @state:N, each with :BIT or without, like 0.1@task:3", s)
	}
	p, err := ParseProcess(who)
	if err != nil {
		return Flip{}, err
	}
	f := Flip{Process: p, Point: FlipPoint(point), Bit: AnyBit}
	count, bit, one := strings.Cut(where, ":")
	if f.Count, err = strconv.ParseInt(count, 10, 64); err != nil || f.Count < 0 {
		return Flip{}, fmt.Errorf("%q in %q is not a count from 0", count, s)
	}
	if one {
		if f.Bit, err = strconv.ParseInt(bit, 10, 64); err != nil || f.Bit < 0 {
			return Flip{}, fmt.Errorf("%q in %q is not the number of a bit, from 0", bit, s)
		}
	}
	return f, nil
}

// ParseDefect parses RANK.REPLICA,q=RATE.
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
	return Flip{Process: p, Point: FlipTask, Bit: AnyBit, Rate: q}, nil
}
