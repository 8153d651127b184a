package vary

import (
	"cmp"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Records are the records of a set, by rank.
type Records [][]Record

// ErrNoPoints means that the undisturbed set has no records to compare with.
var ErrNoPoints = errors.New("the program came to no safe point, so nothing was compared: call SafePoint in its main loop, and run it under intrarun if it has several ranks")

// Read reads the records of the processes of a set. A rank that reached no safe point
// has none. If no rank has any, Read returns nil.
func Read(dir string, set int) (Records, error) {
	files, err := filepath.Glob(recordName(dir, set, "*"))
	if err != nil {
		return nil, fmt.Errorf("read what safe points show: %w", err)
	}
	var all Records
	for _, name := range files {
		rank, err := strconv.Atoi(strings.TrimPrefix(name, recordName(dir, set, "")))
		if err != nil {
			return nil, fmt.Errorf("read what safe points show: %w", err)
		}
		records, err := readFile(name)
		if err != nil {
			return nil, fmt.Errorf("read what safe points show: %w", err)
		}
		if len(records) == 0 {
			continue
		}
		if all == nil {
			all = make(Records, records[0].Ranks)
		}
		if rank >= len(all) {
			return nil, fmt.Errorf("rank %d has recorded, and the job has %d ranks", rank, len(all))
		}
		all[rank] = records
	}
	return all, nil
}

// readFile reads the records of a process. If the process was killed, the last record may
// be incomplete. Then readFile ignores it.
func readFile(name string) (all []Record, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for in := gob.NewDecoder(f); ; {
		var r Record
		switch err := in.Decode(&r); err {
		case nil:
			all = append(all, r)
		case io.EOF, io.ErrUnexpectedEOF:
			return all, nil
		default:
			return nil, err
		}
	}
}

// Result is the outcome of all sets of a program. See docs/sensitivity.md.
type Result struct {
	Version    int        `json:"version"`     // version of this form of the report
	Spec       string     `json:"spec"`        // flags that asked for it
	Seed       uint64     `json:"seed"`        // seed of all random choices, as -seed sets it
	SafePoints int        `json:"safe_points"` // safe points of the undisturbed set
	Variables  []Variance `json:"variables"`   // for each variable the worst result of all sets
	Sets       []Set      `json:"sets"`        // the disturbed sets
}

// ReadResult reads a report that intravary has written.
func ReadResult(name string) (*Result, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	r := new(Result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read the report %s: %w", name, err)
	}
	if r.Version != Version || r.Spec == "" {
		return nil, fmt.Errorf("%s is no report of this intravary: write one with intravary -report", name)
	}
	return r, nil
}

// Set is one disturbed set.
type Set struct {
	Set        int        `json:"set"`             // its number, from 1
	ExitCode   int        `json:"exit_code"`       // exit code of its job
	Disturbed  int64      `json:"disturbed"`       // numbers disturbed up to the last safe point
	Held       int        `json:"held,omitempty"`  // how often -hold has stopped a process
	SafePoints int        `json:"safe_points"`     // safe points that all ranks of the set reached
	Apart      *Apart     `json:"apart,omitempty"` // where the set departs from the undisturbed set
	Variables  []Variance `json:"variables"`       // how its variables differ
	Printed    Printed    `json:"printed"`         // how its printed lines differ
}

// Apart is the first safe point of a rank at which a set departs from the undisturbed set.
// Either only one of the two sets reaches the safe point, or they have passed different
// numbers of sections before it.
type Apart struct {
	Rank        int   `json:"rank"`        // rank at which the sets depart
	SafePoint   int   `json:"safe_point"`  // the first safe point at which the two sets differ
	Sections    int64 `json:"sections"`    // sections before it; -1 if the set does not reach it
	Undisturbed int64 `json:"undisturbed"` // sections before it in the undisturbed set
}

// Variance describes how a variable, taken over all ranks, differs from the undisturbed
// one. A variable without floating-point numbers has no digits.
type Variance struct {
	Name    string `json:"name"`    // the name under which it was registered
	Set     int    `json:"set"`     // number of the set
	Numbers int64  `json:"numbers"` // floating-point numbers in it
	// the significant digits of the largest number at the last safe point compared; omitted
	// for a variable without floating-point numbers
	Digits     *float64 `json:"digits,omitempty"`
	MeanDigits *float64 `json:"mean_digits,omitempty"`  // significant digits of the root mean square
	Least      *float64 `json:"least_digits,omitempty"` // the fewest significant digits at any safe point
	Growth     float64  `json:"growth,omitempty"`       // factor by which the difference grows from one safe point to the next; omitted if unknown
	Unlike     int64    `json:"unlike,omitempty"`       // numbers that are infinite or NaN in only one of the sets
	Others     int64    `json:"others,omitempty"`       // differing values that are not floating-point numbers
	Sizes      bool     `json:"sizes,omitempty"`        // the set has another size of the variable
	Course     []Step   `json:"course,omitempty"`       // the digits at up to 200 safe points of each set
}

// Step is the number of significant digits at a safe point.
type Step struct {
	SafePoint uint64  `json:"safe_point"` // its number
	Digits    float64 `json:"digits"`     // significant digits at it
}

// mostSteps bounds the number of steps of a variable in a report.
const mostSteps = 200

// Outcome holds the records of the processes of a set, and the end of their job.
type Outcome struct {
	Records  Records
	ExitCode int
	Held     int
	Printed  []byte
}

// Version is the version of the report.
const Version = 1

// Judge compares the outcomes of sets with that of the undisturbed one.
func Judge(of Run, undisturbed Outcome, disturbed []Outcome) (*Result, error) {
	if len(undisturbed.Records) == 0 || slices.ContainsFunc(undisturbed.Records, func(rank []Record) bool { return len(rank) == 0 }) {
		return nil, ErrNoPoints
	}
	r := &Result{Version: Version, Spec: of.Spec.String(), Seed: of.Seed, SafePoints: undisturbed.Records.points()}
	for i, o := range disturbed {
		if o.Records == nil {
			o.Records = make(Records, len(undisturbed.Records))
		}
		if len(o.Records) != len(undisturbed.Records) {
			return nil, fmt.Errorf("set %d has %d ranks and the undisturbed one %d", i+1, len(o.Records), len(undisturbed.Records))
		}
		s := o.set(i+1, &undisturbed)
		if s.Disturbed == 0 && s.Held == 0 && s.ExitCode == 0 {
			return nil, fmt.Errorf("nothing was disturbed in set %d up to its last safe point, so it says nothing: %v met no number, or sum of several tasks, that could be (what is 0 stays; tasks are those of sections in a program with the tag intra)", s.Set, of.Spec)
		}
		for _, v := range s.Variables {
			at := slices.IndexFunc(r.Variables, func(o Variance) bool { return o.Name == v.Name })
			switch {
			case at < 0:
				r.Variables = append(r.Variables, v)
			case v.worse(&r.Variables[at]):
				r.Variables[at] = v
			}
		}
		r.Sets = append(r.Sets, s)
	}
	for i := range r.Variables {
		r.Variables[i].Course = nil // each set has the course of its variables
	}
	return r, nil
}

// set compares a set with the undisturbed one.
func (o *Outcome) set(number int, undisturbed *Outcome) Set {
	s := Set{Set: number, ExitCode: o.ExitCode, Held: o.Held, SafePoints: o.Records.points(),
		Apart: firstApart(undisturbed.Records, o.Records), Printed: comparePrinted(undisturbed.Printed, o.Printed)}
	for _, rank := range o.Records {
		if n := len(rank); n > 0 {
			s.Disturbed += rank[n-1].Disturbed
		}
	}
	for _, name := range o.Records.names() {
		s.Variables = append(s.Variables, o.Records.variance(name, number))
	}
	return s
}

// points returns the number of safe points that all ranks have reached.
func (r Records) points() int {
	n := len(r[0])
	for _, rank := range r {
		n = min(n, len(rank))
	}
	return n
}

// firstApart finds the first safe point at which two sets differ.
func firstApart(undisturbed, disturbed Records) (first *Apart) {
	for rank, is := range disturbed {
		was := undisturbed[rank]
		for i := range max(len(is), len(was)) {
			a := &Apart{Rank: rank, SafePoint: i + 1, Sections: sections(is, i), Undisturbed: sections(was, i)}
			if a.Sections == a.Undisturbed {
				continue
			}
			if first == nil || a.SafePoint < first.SafePoint {
				first = a
			}
			break
		}
	}
	return first
}

// sections returns the number of sections before a safe point, -1 if the rank did not
// reach it.
func sections(all []Record, i int) int64 {
	if i >= len(all) {
		return -1
	}
	return int64(all[i].Sections)
}

// names lists the variables in their order, beginning with those of the first rank.
func (r Records) names() (all []string) {
	for _, rank := range r {
		for i := range rank {
			for _, v := range rank[i].Compared {
				if !slices.Contains(all, v.Name) {
					all = append(all, v.Name)
				}
			}
			if len(rank[i].Compared) > 0 {
				break
			}
		}
	}
	return all
}

// variance computes the differences of a variable over the safe points that all ranks with
// this variable have reached.
func (r Records) variance(name string, set int) Variance {
	v := Variance{Name: name, Set: set}
	var at []uint64
	var course []Difference
	var parts []int // number of ranks in each element of course
	most := 0
	for _, rank := range r {
		i := 0
		for _, rec := range rank {
			k := slices.IndexFunc(rec.Compared, func(c Compared) bool { return c.Name == name })
			if k < 0 {
				continue
			}
			if i == len(course) {
				at, course, parts = append(at, rec.Point), append(course, Difference{}), append(parts, 0)
			}
			course[i].Add(rec.Compared[k].Difference)
			parts[i]++
			most = max(most, parts[i])
			i++
		}
	}
	if n := slices.IndexFunc(parts, func(n int) bool { return n < most }); n >= 0 {
		at, course = at[:n], course[:n]
	}
	last := &course[len(course)-1]
	v.Numbers, v.Unlike, v.Others, v.Sizes = last.Numbers, last.Unlike, last.Others, last.Sizes
	if !slices.ContainsFunc(course, func(d Difference) bool { return d.Numbers > 0 }) {
		return v
	}
	digits, mean, least := last.Digits(), last.MeanDigits(), last.Digits()
	for i := range course {
		least = min(least, course[i].Digits())
	}
	v.Digits, v.MeanDigits, v.Least, v.Growth = &digits, &mean, &least, growth(at, course)
	stride := (len(course) + mostSteps - 2) / (mostSteps - 1)
	for i := range course {
		if i%max(stride, 1) == 0 || i == len(course)-1 {
			v.Course = append(v.Course, Step{at[i], course[i].Digits()})
		}
	}
	return v
}

// growth returns the factor by which the difference grows from one safe point to the next.
// It fits a straight line to the logarithms of the relative differences, until they cannot
// grow much more. With fewer than two such differences, growth returns 0.
func growth(at []uint64, course []Difference) float64 {
	var n, x, y, xx, xy float64
	for i := range course {
		l, ok := course[i].relative()
		if !ok {
			if n > 0 && course[i].Most > 0 { // the difference is as large as the numbers
				break
			}
			continue
		}
		p := float64(at[i])
		n, x, y, xx, xy = n+1, x+p, y+l, xx+p*p, xy+p*l
	}
	if n < 2 {
		return 0
	}
	return min(math.Pow(10, (n*xy-x*y)/(n*xx-x*x)), math.MaxFloat64)
}

// worse reports whether v has fewer digits than o, or, without digits, more differing
// values.
func (v *Variance) worse(o *Variance) bool {
	if v.Digits != nil && o.Digits != nil {
		return *v.Digits < *o.Digits
	}
	return cmp.Compare(v.Others+v.Unlike, o.Others+o.Unlike) > 0 || v.Sizes && !o.Sizes
}
