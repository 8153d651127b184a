//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// size is a number of bytes with K, M or G for powers of 1024.
type size int

func (s *size) String() string { return strconv.Itoa(int(*s)) }

func (s *size) Set(v string) error {
	number, shift := v, 0
	if v != "" {
		if i := strings.IndexByte("KMG", v[len(v)-1]); i >= 0 {
			number, shift = v[:len(v)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 1 || n<<shift > 1<<40 {
		return fmt.Errorf("want a number of bytes, like 65536, 64K or 4M")
	}
	*s = size(n << shift)
	return nil
}
