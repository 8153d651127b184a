//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setter sets the value of a flag from its argument.
type setter = func(o *options, text string) error

// toggle returns a setter for a flag without an argument.
func toggle(at func(*options) *bool) setter {
	return func(o *options, text string) (err error) {
		if *at(o), err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("want true or false, or no argument")
		}
		return nil
	}
}

// word returns a setter for any text that is not empty.
func word(at func(*options) *string, want string) setter {
	return func(o *options, text string) error {
		if *at(o) = text; text == "" {
			return fmt.Errorf("want %s", want)
		}
		return nil
	}
}

// text returns a setter for any text.
func text(at func(*options) *string) setter {
	return func(o *options, text string) error {
		*at(o) = text
		return nil
	}
}

// number returns a setter for a number within bounds.
func number(at func(*options) *int, least, most int, of string) setter {
	return func(o *options, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return fmt.Errorf("want %d to %d %s", least, most, of)
		}
		*at(o) = n
		return nil
	}
}

// one returns a setter for one word of a list.
func one(at func(*options) *string, of ...string) setter {
	return func(o *options, text string) error {
		if !slices.Contains(of, text) {
			return fmt.Errorf("want %s or %s", strings.Join(of[:len(of)-1], ", "), of[len(of)-1])
		}
		*at(o) = text
		return nil
	}
}

// parsed returns a setter that stores the result of a parse function.
func parsed[T any](parse func(string) (T, error), to func(*options, T)) setter {
	return func(o *options, text string) error {
		v, err := parse(text)
		if err == nil {
			to(o, v)
		}
		return err
	}
}

// natural returns a setter for an unsigned number.
func natural(at func(*options) *uint64, least uint64, of string) setter {
	return func(o *options, text string) error {
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil || n < least {
			return fmt.Errorf("want %s from %d", of, least)
		}
		*at(o) = n
		return nil
	}
}

// parseSize parses a number of bytes with K, M or G for powers of 1024.
func parseSize(text string, least, most int, want string) (int, error) {
	number, shift := text, 0
	if text != "" {
		if i := strings.IndexByte("KMG", text[len(text)-1]); i >= 0 {
			number, shift = text[:len(text)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 1 || n<<shift < int64(least) || n<<shift > int64(most) {
		return 0, fmt.Errorf("want %s, a number of bytes like 65536, 64K or 4M", want)
	}
	return int(n << shift), nil
}

// parseTime parses a duration of at least least.
func parseTime(text string, least time.Duration, want string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < least {
		return 0, fmt.Errorf("want a duration of at least %v %s", least, want)
	}
	return d, nil
}
