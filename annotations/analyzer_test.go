package annotations_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/intrahpc/intra/annotations"
)

func TestAnalyzer(t *testing.T) {
	// All packages are analysed in one run, since each run loads the standard library.
	analysistest.Run(t, analysistest.TestData(), annotations.Analyzer, "good", "wrong", "sections", "ordinary", "certain", "conflicts", "forgotten")
}

func TestPossibleErrorsAreListed(t *testing.T) {
	require.NoError(t, annotations.Analyzer.Flags.Set("v", "true"))
	defer func() { require.NoError(t, annotations.Analyzer.Flags.Set("v", "false")) }()
	analysistest.Run(t, analysistest.TestData(), annotations.Analyzer, "possible", "conflictslisted")
}

func TestControl(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), annotations.Control, "control")
}

func TestSuggestedFixes(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), annotations.Analyzer, "infer", "uncertain", "notag")
}

func TestMoved(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), annotations.Moved, "moved")
}
