package netns

import (
	"errors"
	"fmt"
	"testing"
)

// Pair is two hosts connected by a cable, which is a veth pair of the kernel. It is for
// measurements: unlike with the switch of a Net, no process copies the frames, but the
// properties of the cable cannot be changed.
type Pair struct {
	Hosts []*Host

	cleaner *cleaner
}

// NewPair makes the hosts. Close removes them. The end of this process also removes them,
// however it ends.
func NewPair() (_ *Pair, err error) {
	if err := supported(); err != nil {
		return nil, err
	}
	p := &Pair{Hosts: newHosts(2)}
	if p.cleaner, err = startCleaner(p.Hosts); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	for _, h := range p.Hosts {
		if err := ip("netns", "add", h.Name); err != nil {
			return nil, fmt.Errorf("make host %s: %w", h.Name, err)
		}
	}
	if err := ip("link", "add", "eth0", "netns", p.Hosts[0].Name, "type", "veth", "peer", "name", "eth0", "netns", p.Hosts[1].Name); err != nil {
		return nil, fmt.Errorf("%w: no cable between two hosts: %w", ErrUnsupported, err)
	}
	for i, h := range p.Hosts {
		if err := h.configure(i, "eth0"); err != nil {
			return nil, fmt.Errorf("make host %s: %w", h.Name, err)
		}
	}
	return p, nil
}

// TestPair is NewPair for a test. It skips the test if hosts cannot be made.
func TestPair(t testing.TB) *Pair {
	t.Helper()
	p, err := NewPair()
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Close kills every process on the hosts and removes them.
func (p *Pair) Close() { p.cleaner.close() }
