package nas

import (
	"fmt"
	"strings"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/internal/cli"
)

// Class is the size of a problem.
type Class byte

// classes are all sizes, from small to large.
const classes = "SWABC"

// String returns the letter.
func (c Class) String() string { return string(rune(c)) }

// MarshalText implements encoding.TextMarshaler.
func (c Class) MarshalText() ([]byte, error) { return []byte{byte(c)}, nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Class) UnmarshalText(text []byte) error {
	if len(text) != 1 || !strings.Contains(classes, string(text)) {
		return fmt.Errorf("class %q: want S, W, A, B or C", text)
	}
	*c = Class(text[0])
	return nil
}

// Settings are the flags.
type Settings struct {
	Class Class
	Tasks int
	JSON  bool
}

// Parse reads the flags. It is called again when the job rolls back.
func Parse() (Settings, error) {
	s := Settings{Tasks: (*intra.Process)(nil).Tasks()}
	f := cli.NewFlags(&s.Tasks, "most tasks of each section; sums of floating-point numbers depend on it", &s.JSON)
	class := f.String("class", "S", "size of the problem: S, W, A, B or C")
	if err := f.Parse(); err != nil {
		return s, err
	}
	if err := s.Class.UnmarshalText([]byte(*class)); err != nil {
		return s, fmt.Errorf("-class: %w", err)
	}
	return s, nil
}

// protect registers the settings as state of p. It returns an error if the saved state has
// other settings.
func (s Settings) protect(p *intra.Process) error {
	was := [2]int{int(s.Class), s.Tasks}
	if intra.Protect(p, "settings", &was); was != [2]int{int(s.Class), s.Tasks} {
		return fmt.Errorf("the saved state is of -class %v -tasks %d; go on with the same", Class(was[0]), was[1])
	}
	return nil
}

// Ranks checks that a problem can be divided among this number of ranks: a power of two up
// to most.
func (s Settings) Ranks(benchmark string, ranks, most int) error {
	if ranks&(ranks-1) != 0 || ranks > most {
		return fmt.Errorf("%d ranks do not fit: class %v of %s runs on a power of two, at most %d", ranks, s.Class, benchmark, most)
	}
	return nil
}
