package vary

import (
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// Records are those of the ranks of a set.
type Records [][]Record

// Read reads what the processes of a set have recorded. A rank that came to no safe point
// has none.
func Read(dir string, set, ranks int) (Records, error) {
	all := make(Records, ranks)
	for rank := range all {
		f, err := os.Open(recordName(dir, set, rank))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("-vary: read what safe points show: %w", err)
		}
		for in := gob.NewDecoder(f); err == nil; {
			var r Record
			if err = in.Decode(&r); err == nil {
				all[rank] = append(all[rank], r)
			}
		}
		f.Close()
		// What a process wrote that was killed may break off.
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, fmt.Errorf("-vary: read what safe points show: %w", err)
		}
	}
	return all, nil
}

// Result is what the sets say of a program. See docs/sensitivity.md.
type Result struct {
	Spec       string     `json:"spec"`        // as it was asked for
	Seed       uint64     `json:"seed"`        // seed of all choices, for -seed
	SafePoints int        `json:"safe_points"` // safe points of the undisturbed set
	Variables  []Variance `json:"variables"`   // of all sets, the worst of each
	Sets       []Set      `json:"sets"`        // the disturbed sets
}

// Set is one disturbed set.
type Set struct {
	Set        int        `json:"set"`             // its number, from 1
	ExitCode   int        `json:"exit_code"`       // exit code of its job
	Disturbed  int64      `json:"disturbed"`       // numbers disturbed up to the last safe point
	SafePoints int        `json:"safe_points"`     // safe points that all its ranks came to
	Apart      *Apart     `json:"apart,omitempty"` // where it begins to do something else than the undisturbed set
	Variables  []Variance `json:"variables"`       // how they differ
}

// Apart is the first safe point of a rank at which so many sections lie behind it as do
// not behind the undisturbed one, or that only one of the two comes to.
type Apart struct {
	Rank        int   `json:"rank"`        // the rank
	SafePoint   int   `json:"safe_point"`  // the first one at which the two differ
	Sections    int64 `json:"sections"`    // sections before it; -1 if the set does not come there
	Undisturbed int64 `json:"undisturbed"` // the same of the undisturbed set
}

// Variance is how a variable of all ranks differs from the undisturbed one. What has no
// floating-point numbers has no digits.
type Variance struct {
	Name    string `json:"name"`    // the name under which it was registered; all ranks together
	Set     int    `json:"set"`     // the set
	Numbers int64  `json:"numbers"` // floating-point numbers in it
	// digits left of the largest one, at the last safe point that was compared; left out for what
	// has no such numbers
	Digits     *float64 `json:"digits,omitempty"`
	MeanDigits *float64 `json:"mean_digits,omitempty"`  // the same of the root of the mean square
	Least      *float64 `json:"least_digits,omitempty"` // the fewest at any safe point
	Growth     float64  `json:"growth,omitempty"`       // growth of the difference from one safe point to the next; left out if it is unknown
	Unlike     int64    `json:"unlike,omitempty"`       // numbers of which one is infinite or no number, and the other is not
	Others     int64    `json:"others,omitempty"`       // integers and the like that differ
	Sizes      bool     `json:"sizes,omitempty"`        // the two have different sizes
	Course     []Step   `json:"course,omitempty"`       // digits at up to 200 safe points, of each set
}

// Step is how many digits are left at a safe point.
type Step struct {
	SafePoint uint64  `json:"safe_point"` // its number
	Digits    float64 `json:"digits"`     // digits left there
}

// mostSteps bounds how many of them a report has of a variable.
const mostSteps = 200

// Judge compares what sets have recorded with the undisturbed one. codes are the exit
// codes of the disturbed ones.
func Judge(of Run, undisturbed Records, disturbed []Records, codes []int) *Result {
	r := &Result{Spec: of.Spec.String(), Seed: of.Seed, SafePoints: undisturbed.points()}
	for i, records := range disturbed {
		s := Set{Set: i + 1, ExitCode: codes[i], SafePoints: records.points(), Apart: firstApart(undisturbed, records)}
		for _, rank := range records {
			if n := len(rank); n > 0 {
				s.Disturbed += rank[n-1].Disturbed
			}
		}
		for _, name := range records.names() {
			s.Variables = append(s.Variables, records.variance(name, s.Set))
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
		r.Variables[i].Course = nil // it is with the set
	}
	return r
}

// points is how many safe points all ranks have come to.
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

// sections is how many lie before a safe point, -1 if there is none.
func sections(all []Record, i int) int64 {
	if i >= len(all) {
		return -1
	}
	return int64(all[i].Sections)
}

// names lists the variables in their order, those of the first rank first.
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

// variance follows a variable over the safe points that all ranks which have it have come
// to.
func (r Records) variance(name string, set int) Variance {
	v := Variance{Name: name, Set: set}
	var at []uint64
	var course []Difference
	var parts []int // that there are of each
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

// growth is by which factor the difference grows from one safe point to the next: that
// of the straight line through its logarithms, up to where it is as large as the numbers.
// Where it was never there, or at one safe point only, it is 0.
func growth(at []uint64, course []Difference) float64 {
	var n, x, y, xx, xy float64
	for i := range course {
		l, ok := course[i].relative()
		if !ok {
			if n > 0 && course[i].Most > 0 { // it has grown up
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

// worse reports whether v has fewer digits than o, or differs where that does not.
func (v *Variance) worse(o *Variance) bool {
	if v.Digits != nil && o.Digits != nil {
		return *v.Digits < *o.Digits
	}
	return cmp.Compare(v.Others+v.Unlike, o.Others+o.Unlike) > 0 || v.Sizes && !o.Sizes
}
