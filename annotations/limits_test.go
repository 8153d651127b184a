package annotations

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

func TestNothingIsRefusedBeyondTheLimits(t *testing.T) {
	for name, change := range map[string]func(*limits){
		"size":     func(l *limits) { l.size = 1 },
		"passes":   func(l *limits) { l.passes = 0 },
		"accesses": func(l *limits) { l.accesses = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			l := defaultLimits
			change(&l)
			analysistest.Run(t, analysistest.TestData(), newAnalyzer(l), "long")
		})
	}
}

func TestRecursionBeyondTheLimit(t *testing.T) {
	l := defaultLimits
	l.rounds = 1
	analysistest.Run(t, analysistest.TestData(), newAnalyzer(l), "recursive")
}
