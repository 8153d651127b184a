package vary

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Printed describes how the printed lines of a set differ from those of the undisturbed
// one.
type Printed struct {
	Lines  int      `json:"lines"`            // lines of the undisturbed set
	Differ int      `json:"differ,omitempty"` // lines that differ, or that only one of the two has
	First  int      `json:"first,omitempty"`  // the first differing line, counted from 1
	Digits *float64 `json:"digits,omitempty"` // the fewest significant digits of any number in that line; omitted if its words differ
}

// comparePrinted compares line by line.
func comparePrinted(undisturbed, printed []byte) (p Printed) {
	was, is := lines(undisturbed), lines(printed)
	p.Lines = len(was)
	for i := range max(len(was), len(is)) {
		if i < min(len(was), len(is)) {
			if was[i] == is[i] {
				continue
			}
		}
		if p.Differ++; p.First > 0 {
			continue
		}
		if p.First = i + 1; i < min(len(was), len(is)) {
			p.Digits = digitsOf(words(was[i]), words(is[i]))
		}
	}
	return p
}

func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// digitsOf returns the fewest significant digits of any number in a line, nil if anything
// else differs.
func digitsOf(was, is []string) *float64 {
	if len(was) != len(is) {
		return nil
	}
	fewest := math.Inf(1)
	for i := range was {
		if was[i] == is[i] {
			continue
		}
		a, err1 := strconv.ParseFloat(was[i], 64)
		b, err2 := strconv.ParseFloat(is[i], 64)
		if err1 != nil || err2 != nil {
			return nil
		}
		d := Difference{Numbers: 1}
		apart(&d, []float64{a}, []float64{b})
		fewest = min(fewest, d.Digits())
	}
	if math.IsInf(fewest, 1) {
		return nil
	}
	return &fewest
}

// words splits a line at blanks and punctuation.
func words(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t,;:=()[]{}\"", r) })
}

// String describes the differences.
func (p Printed) String() string {
	switch {
	case p.Differ == 0:
		return fmt.Sprintf("the same %d lines printed", p.Lines)
	case p.Digits == nil:
		return fmt.Sprintf("%d of %d printed lines differ, the first is line %d", p.Differ, p.Lines, p.First)
	}
	return fmt.Sprintf("%d of %d printed lines differ, the first is line %d, with %.1f digits", p.Differ, p.Lines, p.First, *p.Digits)
}
