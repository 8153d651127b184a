//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/intrahpc/intra/internal/launch/livepage"
)

// tokenVariable is the environment variable with the token of the page.
const tokenVariable = "INTRA_HTTP_TOKEN"

// pageAddress parses the address of the page. The token comes from the flag if that is given,
// and otherwise from the environment.
func pageAddress(at, token string, given bool) (*livepage.Address, error) {
	from := "-http-token"
	switch file, named := strings.CutPrefix(token, "@"); {
	case !given:
		from, token = tokenVariable, os.Getenv(tokenVariable)
	case named:
		from += " " + token
		var err error
		if token, err = readToken(file); err == nil && token == "" {
			err = errors.New("the file is empty")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	}
	a, err := livepage.ParseAddress(at, token)
	if errors.Is(err, livepage.ErrToken) {
		err = fmt.Errorf("%s: %w", from, err)
	}
	return a, err
}

// maxToken bounds the file of a token, in bytes.
const maxToken = 4096

// readToken reads a token from a file, without the line end.
func readToken(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxToken))
	return strings.TrimSpace(string(b)), err
}
