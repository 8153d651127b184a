package annotations_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/intrahpc/intra/annotations"
)

func TestAnalyzer(t *testing.T) {
	for _, pkg := range []string{"good", "wrong", "sections", "ordinary", "certain", "conflicts"} {
		t.Run(pkg, func(t *testing.T) { analysistest.Run(t, analysistest.TestData(), annotations.Analyzer, pkg) })
	}
}

func TestPossibleErrorsAreListed(t *testing.T) {
	require.NoError(t, annotations.Analyzer.Flags.Set("v", "true"))
	defer func() { require.NoError(t, annotations.Analyzer.Flags.Set("v", "false")) }()
	for _, pkg := range []string{"possible", "conflictslisted"} {
		t.Run(pkg, func(t *testing.T) { analysistest.Run(t, analysistest.TestData(), annotations.Analyzer, pkg) })
	}
}

func TestControl(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), annotations.Control, "control")
}

func TestSuggestedFixes(t *testing.T) {
	for _, pkg := range []string{"infer", "uncertain", "notag"} {
		t.Run(pkg, func(t *testing.T) {
			analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), annotations.Analyzer, pkg)
		})
	}
}

func TestMoved(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), annotations.Moved, "moved")
}
