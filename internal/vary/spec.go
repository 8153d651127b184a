package vary

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Spec says how many sets of processes run, and how all but the first are disturbed.
type Spec struct {
	Sets  int           `json:"sets"`            // with the undisturbed one
	Bits  float64       `json:"bits,omitempty"`  // of this share of the numbers that tasks write the last bit is turned
	Order bool          `json:"order,omitempty"` // the partial results of tasks are added up, or multiplied, in another order
	State []Disturbance `json:"state,omitempty"` // at the first safe point
	Every uint64        `json:"every"`           // values are compared at each safe point that follows on a multiple of this number
	Size  int64         `json:"size"`            // of the values of the undisturbed set in files, in bytes
}

// Disturbance is one of a registered variable: each of its numbers is changed by that
// part of itself, up or down.
type Disturbance struct {
	Name string  `json:"name,omitempty"` // "": all variables
	Eps  float64 `json:"eps"`
}

// Run is a set of processes.
type Run struct {
	Spec
	Seed uint64 `json:"seed"` // of all choices
	Set  int    `json:"set"`  // 0: the undisturbed one
	Dir  string `json:"dir"`  // of the files
}

// The least and the most that can be asked for, and what is taken without a word.
const (
	mostSets    = 100
	usualSize   = 1 << 30
	mostDisturb = 1
)

const wanted = "want sets=N, then bits=P, order, state=EPS or state:NAME=EPS, and maybe every=N or size=BYTES, with commas between them, like sets=4,bits=1%"

// Parse reads a list like sets=4,bits=1%.
func Parse(text string) (*Spec, error) {
	s := &Spec{}
	var seen []string
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok && key != "order" || ok && key == "order":
			return nil, fmt.Errorf("%q is no part of it: %s", part, wanted)
		case slices.Contains(seen, key):
			return nil, fmt.Errorf("%s is there twice: give it once", key)
		}
		seen = append(seen, key)
		if err := s.set(key, value); err != nil {
			return nil, err
		}
	}
	switch {
	case s.Sets == 0:
		return nil, errors.New("it does not say how many sets of processes run: give sets=N, like sets=4")
	case s.Bits == 0 && !s.Order && len(s.State) == 0:
		return nil, errors.New("it does not say how the sets are disturbed: give bits=P, order, state=EPS or state:NAME=EPS, like bits=1%")
	case len(s.State) > 1 && slices.ContainsFunc(s.State, func(d Disturbance) bool { return d.Name == "" }):
		return nil, errors.New("state=EPS disturbs all variables: leave out state:NAME=EPS, or name all that are to be disturbed")
	}
	s.Every, s.Size = max(s.Every, 1), max(s.Size, 0)
	if s.Size == 0 {
		s.Size = usualSize
	}
	return s, nil
}

func (s *Spec) set(key, value string) (err error) {
	name, named := strings.CutPrefix(key, "state:")
	switch {
	case key == "sets":
		if s.Sets, err = strconv.Atoi(value); err != nil || s.Sets < 2 || s.Sets > mostSets {
			return fmt.Errorf("sets=%s: want 2 to %d sets, of which the first is undisturbed", value, mostSets)
		}
	case key == "bits":
		if s.Bits, err = number(value); err != nil || !(s.Bits > 0 && s.Bits <= 1) {
			return fmt.Errorf("bits=%s: want a share of the numbers that tasks write, above 0 and up to 1, or in percent, like 1%%", value)
		}
	case key == "order":
		s.Order = true
	case key == "state" || named && name != "":
		d := Disturbance{Name: name}
		if !named {
			d.Name = ""
		}
		if d.Eps, err = number(value); err != nil || !(d.Eps > 0 && d.Eps < mostDisturb) {
			return fmt.Errorf("%s=%s: want the part of a number by which it is changed, above 0 and below 1, like 1e-12", key, value)
		}
		s.State = append(s.State, d)
	case key == "every":
		if s.Every, err = strconv.ParseUint(value, 10, 32); err != nil || s.Every == 0 {
			return fmt.Errorf("every=%s: want 1 or more safe points, like 10", value)
		}
	case key == "size":
		if s.Size, err = bytes(value); err != nil {
			return fmt.Errorf("size=%s: want a number of bytes, like 64M or 4G", value)
		}
	default:
		return fmt.Errorf("there is no %q: %s", key, wanted)
	}
	return nil
}

// number reads a number, or one in percent.
func number(s string) (float64, error) {
	digits, percent := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(digits, 64)
	if percent {
		x /= 100
	}
	return x, err
}

// bytes reads a number of bytes with K, M or G for powers of 1024.
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

// String is what Parse reads, as far as it matters for what comes out.
func (s Spec) String() string {
	all := []string{fmt.Sprintf("sets=%d", s.Sets)}
	if s.Bits > 0 {
		all = append(all, fmt.Sprintf("bits=%v", s.Bits))
	}
	if s.Order {
		all = append(all, "order")
	}
	for _, d := range s.State {
		key := "state"
		if d.Name != "" {
			key += ":" + d.Name
		}
		all = append(all, fmt.Sprintf("%s=%v", key, d.Eps))
	}
	if s.Every > 1 {
		all = append(all, fmt.Sprintf("every=%d", s.Every))
	}
	return strings.Join(all, ",")
}
