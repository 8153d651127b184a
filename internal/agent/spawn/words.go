package spawn

import (
	"fmt"
	"strings"
)

// splitQuoted splits at spaces. A whole word may be in quotes, as in GOFLAGS.
func splitQuoted(s string) ([]string, error) {
	var words []string
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		if s == "" {
			return words, nil
		}
		word, rest := "", ""
		if q := s[0]; q == '"' || q == '\'' {
			end := strings.IndexByte(s[1:], q)
			if end < 0 {
				return nil, fmt.Errorf("unterminated %c in %q", q, s)
			}
			word, rest = s[1:1+end], s[2+end:]
		} else if end := strings.IndexAny(s, " \t\r\n"); end >= 0 {
			word, rest = s[:end], s[end:]
		} else {
			word = s
		}
		words, s = append(words, word), rest
	}
}
