package traceformat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// File is the content of a file that Check accepts.
type File struct {
	Unit   string         `json:"displayTimeUnit"`
	Other  map[string]any `json:"otherData"`
	Events []Event        `json:"traceEvents"`
}

// Event is one event of the file. Times are in microseconds.
type Event struct {
	Name, Cat string
	Phase     string `json:"ph"`
	TS        *float64
	Dur       *float64
	PID, TID  *int
	ID        *int
	Bind      string `json:"bp"`
	Scope     string `json:"s"`
	Args      map[string]any
}

// Row is where an event is drawn.
type Row struct{ PID, TID int }

// Row returns where e is drawn.
func (e *Event) Row() Row { return Row{*e.PID, *e.TID} }

// End returns the time when e ends.
func (e *Event) End() float64 {
	if e.Dur == nil {
		return *e.TS
	}
	return *e.TS + *e.Dur
}

// Text returns a text argument, "" if there is none.
func (e *Event) Text(key string) string {
	s, _ := e.Args[key].(string)
	return s
}

// Number returns a numeric argument, -1 if there is none.
func (e *Event) Number(key string) float64 {
	n, ok := e.Args[key].(float64)
	if !ok {
		return -1
	}
	return n
}

// fields lists, by phase, the fields of an event besides name, cat, ph, ts, pid and tid.
// Of those, the first must ones are required.
var fields = map[string]struct {
	all  []string
	must int
}{
	"X": {[]string{"dur", "args"}, 1},
	"B": {[]string{"args"}, 0},
	"E": {[]string{"args"}, 0},
	"i": {[]string{"s", "args"}, 1},
	"C": {[]string{"args"}, 1},
	"M": {[]string{"args"}, 1},
	"s": {[]string{"id", "args"}, 1},
	"f": {[]string{"id", "bp", "args"}, 2},
}

// Check parses a file, and returns its first error.
func Check(text []byte) (*File, error) {
	var raw struct {
		Events []map[string]json.RawMessage `json:"traceEvents"`
	}
	f := new(File)
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := errors.Join(json.Unmarshal(text, &raw), dec.Decode(f)); err != nil {
		return nil, err
	}
	if f.Unit != "ms" && f.Unit != "ns" {
		return nil, fmt.Errorf("displayTimeUnit is %q", f.Unit)
	}
	for i := range f.Events {
		if err := f.Events[i].check(raw.Events[i]); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	return f, errors.Join(f.names(), f.nest(), f.flows())
}

// check checks one event on its own.
func (e *Event) check(raw map[string]json.RawMessage) error {
	want, ok := fields[e.Phase]
	switch {
	case !ok:
		return fmt.Errorf("phase %q", e.Phase)
	case e.TS == nil || e.PID == nil || e.TID == nil:
		return errors.New("no ts, pid or tid")
	case *e.TS < 0:
		return fmt.Errorf("ts is %v", *e.TS)
	case e.Name == "" && e.Phase != "E":
		return errors.New("no name")
	case e.Dur != nil && *e.Dur < 0:
		return fmt.Errorf("dur is %v", *e.Dur)
	case e.Phase == "i" && !strings.Contains("gpt", e.Scope):
		return fmt.Errorf("scope %q", e.Scope)
	case e.Bind != "" && e.Bind != "e":
		return fmt.Errorf("bp %q", e.Bind)
	}
	for key := range raw {
		if !slices.Contains([]string{"name", "cat", "ph", "ts", "pid", "tid"}, key) && !slices.Contains(want.all, key) {
			return fmt.Errorf("phase %s has a field %s", e.Phase, key)
		}
	}
	for _, key := range want.all[:want.must] {
		if _, ok := raw[key]; !ok {
			return fmt.Errorf("phase %s without %s", e.Phase, key)
		}
	}
	if e.Phase == "C" {
		for key, v := range e.Args {
			if _, ok := v.(float64); !ok {
				return fmt.Errorf("counter %s is %v", key, v)
			}
		}
	}
	return nil
}

// names checks that rows and groups have exactly one name each, and that each row
// belongs to one group.
func (f *File) names() error {
	groups, rows, of := make(map[int]string), make(map[Row]string), make(map[int]int)
	for i := range f.Events {
		e := &f.Events[i]
		if e.Phase != "M" {
			continue
		}
		switch e.Name {
		case "process_name":
			if groups[*e.PID] != "" || e.Text("name") == "" {
				return fmt.Errorf("process %d is named %q after %q", *e.PID, e.Text("name"), groups[*e.PID])
			}
			groups[*e.PID] = e.Text("name")
		case "thread_name":
			if rows[e.Row()] != "" || e.Text("name") == "" {
				return fmt.Errorf("row %v is named %q after %q", e.Row(), e.Text("name"), rows[e.Row()])
			}
			rows[e.Row()] = e.Text("name")
		case "process_sort_index", "thread_sort_index":
			if e.Number("sort_index") < 0 {
				return fmt.Errorf("%s without sort_index", e.Name)
			}
		default:
			return fmt.Errorf("metadata %q", e.Name)
		}
	}
	for i := range f.Events {
		e := &f.Events[i]
		if e.Phase == "M" {
			continue
		}
		if pid, ok := of[*e.TID]; ok && pid != *e.PID {
			return fmt.Errorf("tid %d is one of process %d and one of %d", *e.TID, pid, *e.PID)
		}
		of[*e.TID] = *e.PID
		if *e.TID == 0 || groups[*e.PID] == "" || rows[e.Row()] == "" {
			return fmt.Errorf("%s %q is on row %v, which has no name", e.Phase, e.Name, e.Row())
		}
	}
	return nil
}

// rounding is the tolerance for times, in microseconds: they are written with
// three decimal places, and parsed as binary numbers.
const rounding = 1e-4

// slice is an event with a duration: an X, or a B with its E.
type slice struct {
	from, to float64
	name     string
}

// slices lists the slices by rows, outer ones first.
func (f *File) slices() (map[Row][]slice, error) {
	all, open := make(map[Row][]slice), make(map[Row][]*Event)
	for i := range f.Events {
		e := &f.Events[i]
		r := e.Row()
		switch e.Phase {
		case "X":
			all[r] = append(all[r], slice{*e.TS, e.End(), e.Name})
		case "B":
			open[r] = append(open[r], e)
		case "E":
			if len(open[r]) == 0 {
				return nil, fmt.Errorf("an E at %v on row %v without B", *e.TS, r)
			}
			b := open[r][len(open[r])-1]
			open[r] = open[r][:len(open[r])-1]
			all[r] = append(all[r], slice{*b.TS, *e.TS, b.Name})
		}
	}
	for r, left := range open {
		if len(left) > 0 {
			return nil, fmt.Errorf("a B %q on row %v without E", left[0].Name, r)
		}
	}
	for _, on := range all {
		slices.SortStableFunc(on, func(a, b slice) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
		})
	}
	return all, nil
}

// nest checks that slices of a row are disjoint or nested.
func (f *File) nest() error {
	all, err := f.slices()
	if err != nil {
		return err
	}
	for r, on := range all {
		var open []slice
		for _, s := range on {
			for len(open) > 0 && open[len(open)-1].to <= s.from+rounding {
				open = open[:len(open)-1]
			}
			if len(open) > 0 && s.to > open[len(open)-1].to+rounding {
				o := open[len(open)-1]
				return fmt.Errorf("row %v: %s (%.3f to %.3f) overlaps %s (%.3f to %.3f)", r, s.name, s.from, s.to, o.name, o.from, o.to)
			}
			open = append(open, s)
		}
	}
	return nil
}

// flows checks that each arrow has one beginning and one end. The end is not before the
// beginning, has the same name and category, and both are in slices.
func (f *File) flows() error {
	all, err := f.slices()
	if err != nil {
		return err
	}
	type arrow struct{ from, to *Event }
	arrows := make(map[int]*arrow)
	for i := range f.Events {
		e := &f.Events[i]
		if e.Phase != "s" && e.Phase != "f" {
			continue
		}
		a := arrows[*e.ID]
		if a == nil {
			a = new(arrow)
			arrows[*e.ID] = a
		}
		end := &a.from
		if e.Phase == "f" {
			end = &a.to
		}
		if *end != nil {
			return fmt.Errorf("arrow %d has two %s", *e.ID, e.Phase)
		}
		*end = e
		if !within(all[e.Row()], *e.TS) {
			return fmt.Errorf("%s of arrow %d at %.3f on row %v is in no slice", e.Phase, *e.ID, *e.TS, e.Row())
		}
	}
	for id, a := range arrows {
		switch {
		case a.from == nil || a.to == nil:
			return fmt.Errorf("arrow %d has one end", id)
		case a.from.Name != a.to.Name || a.from.Cat != a.to.Cat:
			return fmt.Errorf("arrow %d is %s and %s", id, a.from.Name, a.to.Name)
		case *a.to.TS < *a.from.TS:
			return fmt.Errorf("arrow %d ends %.3f µs before it begins", id, *a.from.TS-*a.to.TS)
		}
	}
	return nil
}

// within reports whether a slice is open at a moment.
func within(on []slice, at float64) bool {
	i, _ := slices.BinarySearchFunc(on, at+rounding, func(s slice, at float64) int {
		if s.from <= at {
			return -1
		}
		return 1
	})
	for i--; i >= 0; i-- { // outer slices come first
		if on[i].to >= at-rounding {
			return true
		}
	}
	return false
}
