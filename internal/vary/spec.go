package vary

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spec is the number of sets of processes, and the disturbances of all sets but the first.
type Spec struct {
	Sets  int           `json:"sets"`            // number of sets, including the undisturbed one
	Bits  float64       `json:"bits,omitempty"`  // share of the numbers written by tasks whose last bit is flipped
	Order bool          `json:"order,omitempty"` // partial results of tasks are summed, or multiplied, in another order
	State []Disturbance `json:"state,omitempty"` // changes of variables at the first safe point
	Hold  time.Duration `json:"hold,omitempty"`  // processes are stopped repeatedly, each time for up to this duration
	Every uint64        `json:"every"`           // values are compared at the first safe point and at every N-th after it
	Size  int64         `json:"size"`            // bound on the file of undisturbed values, in bytes
}

// Disturbance is the disturbance of a registered variable: each of its numbers is
// changed by the relative amount Eps, up or down.
type Disturbance struct {
	Name string  `json:"name,omitempty"` // registered name; "": all variables
	Eps  float64 `json:"eps"`
}

// Run is the run of one set of processes.
type Run struct {
	Spec
	Seed uint64 `json:"seed"` // determines all random choices
	Set  int    `json:"set"`  // number of the set; 0: the undisturbed one
	Dir  string `json:"dir"`  // folder of the files
}

// Limits and defaults of the flags.
const (
	mostSets    = 100
	usualSets   = 4
	usualSize   = 1 << 30
	mostDisturb = 1
)

// Check fills in the defaults, and reports an error if no disturbance is given.
func (s *Spec) Check() error {
	switch {
	case s.Bits == 0 && !s.Order && len(s.State) == 0 && s.Hold == 0:
		return errors.New("nothing says how the sets are disturbed: give -bits P, -order, -state EPS, -state NAME=EPS or -hold DURATION, like -bits 1%")
	case len(s.State) > 1 && slices.ContainsFunc(s.State, func(d Disturbance) bool { return d.Name == "" }):
		return errors.New("-state EPS disturbs all variables: leave out -state NAME=EPS, or name all that are to be disturbed")
	}
	s.Sets, s.Every = cmp.Or(s.Sets, usualSets), max(s.Every, 1)
	if s.Size == 0 {
		s.Size = usualSize
	}
	return nil
}

// Set parses the value of a flag.
func (s *Spec) Set(flag, value string) (err error) {
	switch flag {
	case "sets":
		if s.Sets, err = strconv.Atoi(value); err != nil || s.Sets < 2 || s.Sets > mostSets {
			return fmt.Errorf("want 2 to %d sets, of which the first is undisturbed", mostSets)
		}
	case "bits":
		if s.Bits, err = number(value); err != nil || !(s.Bits > 0 && s.Bits <= 1) {
			return errors.New("want a share of the numbers that tasks write, above 0 and up to 1, or in percent, like 1%")
		}
	case "state":
		d := Disturbance{}
		eps := value
		if at := strings.LastIndexByte(value, '='); at >= 0 {
			d.Name, eps = value[:at], value[at+1:]
			if d.Name == "" {
				return errors.New("want EPS or NAME=EPS, like x=1e-12")
			}
		}
		if d.Eps, err = number(eps); err != nil || !(d.Eps > 0 && d.Eps < mostDisturb) {
			return errors.New("want the part of a number by which it is changed, above 0 and below 1, like 1e-12 or x=1e-12")
		}
		s.State = append(s.State, d)
	case "hold":
		if s.Hold, err = time.ParseDuration(value); err != nil || s.Hold < time.Millisecond || s.Hold > time.Second {
			return errors.New("want 1ms to 1s, like 20ms")
		}
	case "every":
		if s.Every, err = strconv.ParseUint(value, 10, 32); err != nil || s.Every == 0 {
			return errors.New("want 1 or more safe points, like 10")
		}
	case "size":
		if s.Size, err = bytes(value); err != nil {
			return errors.New("want a number of bytes, like 64M or 4G")
		}
	}
	return nil
}

// number parses a number or a percentage.
func number(s string) (float64, error) {
	digits, percent := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(digits, 64)
	if percent {
		x /= 100
	}
	return x, err
}

// bytes parses a number of bytes with K, M or G for powers of 1024.
func bytes(s string) (int64, error) {
	digits, shift := s, 0
	if s != "" {
		if i := strings.IndexByte("KMG", s[len(s)-1]); i >= 0 {
			digits, shift = s[:len(s)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	return n << shift, err
}

// String returns the flags that ask for s, except those that do not affect the results.
func (s Spec) String() string {
	all := []string{fmt.Sprintf("-sets %d", s.Sets)}
	if s.Bits > 0 {
		all = append(all, fmt.Sprintf("-bits %v", s.Bits))
	}
	if s.Order {
		all = append(all, "-order")
	}
	for _, d := range s.State {
		name := d.Name
		if name != "" {
			name += "="
		}
		all = append(all, fmt.Sprintf("-state %s%v", name, d.Eps))
	}
	if s.Hold > 0 {
		all = append(all, fmt.Sprintf("-hold %v", s.Hold))
	}
	if s.Every > 1 {
		all = append(all, fmt.Sprintf("-every %d", s.Every))
	}
	return strings.Join(all, " ")
}
