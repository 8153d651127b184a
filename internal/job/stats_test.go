package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatsThatDiffer(t *testing.T) {
	whole := Stats{Sections: 61, Points: 60, Place: "main.go:49"}
	tests := []struct {
		name         string
		a, b         Stats
		within, with string // expected difference for replicas of one rank, and for different ranks
	}{
		{"the same", whole, whole, "", ""},
		{"restored, and the same", Stats{Sections: 31, Before: 30, Points: 60, Restored: 30}, whole, "", ""},
		{"a counter was forgotten", Stats{Sections: 61, Before: 30, Points: 90, Restored: 30}, whole,
			"the first came to 90 safe points and 91 sections, the second to 60 and 61 (SafePoint is called at main.go:49); the first was restored at safe point 30: " + ForgottenState,
			"the first came to 90 safe points and 91 sections, the second to 60 and 61 (SafePoint is called at main.go:49); the first was restored at safe point 30: " + ForgottenState},
		{"no process was restored", Stats{Sections: 61, Points: 61}, whole,
			"the first came to 61 safe points and 61 sections, the second to 60 and 61 (SafePoint is called at main.go:49)", ""},
		{"sections", Stats{Sections: 62, Points: 60}, whole, "one left 62 sections, the other 61", ""},
		{"state", Stats{Sections: 61, Points: 60, Watched: &Watched{Last: []Hashed{{SafePoint: true, Number: 8, Hash: 42}}}},
			Stats{Sections: 61, Points: 60, Watched: &Watched{Last: []Hashed{{Number: 8, Hash: 1}, {SafePoint: true, Number: 8, Hash: 43}}}},
			"the registered state at safe point 8 had other contents; only the hash is known (2a on the first, 2b on the second): " + DivergeAdvice(false), ""},
		{"tasks", Stats{Sections: 61, Points: 60, Signature: 1}, whole, "their sections had different tasks, shapes or arguments", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.within, tt.a.Diverged(&tt.b))
			require.Equal(t, tt.with, tt.a.Apart(&tt.b))
		})
	}
}
