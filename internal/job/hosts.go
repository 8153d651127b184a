package job

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// Host is a machine that a job may use.
type Host struct {
	Name  string // name as the command that starts agents expects it
	Slots int    // number of processes for which it has room
	Rack  string // hosts of one rack may fail together; "" if unknown
	Addr  string // address on which its processes listen; "": the address from which it connects to the head
}

// ErrHosts marks an invalid description of hosts.
var ErrHosts = errors.New("invalid hosts")

// maxHosts bounds the number of hosts in one range.
const maxHosts = 1 << 16

// ParseHosts parses h1:2,h2:2 or n[01-04]:2. The default number of slots is 1. An IPv6
// address stands in brackets.
func ParseHosts(s string) ([]Host, error) {
	var hosts []Host
	for _, item := range splitOutside(s) {
		name, slots := strings.TrimSpace(item), 1
		if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, ']') {
			n, err := strconv.Atoi(name[i+1:])
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%w: %q: want a number of slots from 1 behind the colon, like h1:2", ErrHosts, item)
			}
			name, slots = name[:i], n
		}
		names, err := ExpandNames(name)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			hosts = append(hosts, Host{Name: n, Slots: slots})
		}
	}
	return hosts, distinct(hosts)
}

// ParseHostfile parses a file with one host per line: NAME slots=N rack=NAME addr=ADDRESS.
// All but the name is optional, and # begins a comment. name is the name of the file, for
// errors.
func ParseHostfile(name string, r io.Reader) ([]Host, error) {
	var hosts []Host
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		names, err := ExpandNames(fields[0])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		h := Host{Slots: 1}
		for _, f := range fields[1:] {
			if err := h.set(f); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
		}
		if h.Addr != "" && len(names) > 1 {
			return nil, fmt.Errorf("%s:%d: %w: %d hosts cannot have one address", name, n, ErrHosts, len(names))
		}
		for _, h.Name = range names {
			hosts = append(hosts, h)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if err := distinct(hosts); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return hosts, nil
}

// set parses one attribute of a host.
func (h *Host) set(field string) error {
	key, value, ok := strings.Cut(field, "=")
	switch {
	case !ok || value == "":
	case key == "slots":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("%w: %q is not a number of slots, want one from 1", ErrHosts, value)
		}
		h.Slots = n
		return nil
	case key == "rack":
		h.Rack = value
		return nil
	case key == "addr":
		if _, err := netip.ParseAddr(value); err != nil {
			return fmt.Errorf("%w: addr=%s: %w", ErrHosts, value, err)
		}
		h.Addr = value
		return nil
	}
	return fmt.Errorf("%w: %q: want slots=N, rack=NAME or addr=ADDRESS", ErrHosts, field)
}

func distinct(hosts []Host) error {
	if len(hosts) == 0 {
		return fmt.Errorf("%w: no host is named", ErrHosts)
	}
	seen := make(map[string]bool)
	for _, h := range hosts {
		if seen[h.Name] {
			return fmt.Errorf("%w: %s is named twice", ErrHosts, h.Name)
		}
		seen[h.Name] = true
	}
	return nil
}

// splitOutside splits at the commas that are not in brackets.
func splitOutside(s string) []string {
	var items []string
	depth, from := 0, 0
	for i, c := range s {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth <= 0:
			items, from = append(items, s[from:i]), i+1
		}
	}
	return append(items, s[from:])
}

// ExpandNames returns the hosts that a name with ranges in Slurm's syntax stands for:
// n[01-03,7] means n01, n02, n03 and n7. An IPv6 address in brackets stands for itself.
func ExpandNames(s string) ([]string, error) {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		if s == "" || strings.ContainsAny(s, "] \t/'\"") || s[0] == '-' {
			return nil, fmt.Errorf("%w: %q is not the name of a host", ErrHosts, s)
		}
		return []string{s}, nil
	}
	end := strings.IndexByte(s, ']')
	if end < open {
		return nil, fmt.Errorf("%w: %q: a bracket is not closed", ErrHosts, s)
	}
	if a, err := netip.ParseAddr(s[open+1 : end]); err == nil && a.Is6() && open == 0 && end == len(s)-1 {
		return []string{a.String()}, nil
	}
	rest := []string{""}
	if end+1 < len(s) {
		var err error
		if rest, err = ExpandNames(s[end+1:]); err != nil {
			return nil, err
		}
	}
	var names []string
	for part := range strings.SplitSeq(s[open+1:end], ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		a, err1 := strconv.ParseUint(first, 10, 31)
		b, err2 := strconv.ParseUint(last, 10, 31)
		if err1 != nil || err2 != nil || b < a || b-a >= maxHosts {
			return nil, fmt.Errorf("%w: %q in %q is not a range of numbers, like 01-04", ErrHosts, part, s)
		}
		for n := a; n <= b; n++ {
			for _, r := range rest {
				names = append(names, fmt.Sprintf("%s%0*d%s", s[:open], len(first), n, r))
			}
			if len(names) > maxHosts {
				return nil, fmt.Errorf("%w: %q stands for more than %d hosts", ErrHosts, s, maxHosts)
			}
		}
	}
	return names, nil
}
