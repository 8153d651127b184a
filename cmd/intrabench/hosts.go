//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// hostsFlag defines the flag that puts the two processes of a job on separate hosts.
func hostsFlag(fs *flag.FlagSet) *bool {
	return fs.Bool("hosts", false, "run the processes of a job on two hosts, network namespaces with a cable between them, over TCP (as root)")
}

// limited returns the configurations for links of a bandwidth: one that shares if that saves
// time, and one that always shares. Between hosts, the native run has such links, too.
func limited(c figures.Config, between bool) (all []figures.Config) {
	if between {
		all = figures.Beside(c)
		c = all[1]
	} else {
		all = []figures.Config{c}
	}
	return append(all, figures.Forced(c))
}

// apart makes the programs run on two hosts, if requested. It returns a function that removes
// the hosts.
func apart(p *figures.Programs, between bool) (remove func(), err error) {
	if !between {
		return func() {}, nil
	}
	pair, err := netns.NewPair()
	if errors.Is(err, netns.ErrUnsupported) {
		return nil, fmt.Errorf("-hosts: %w: run it as root on Linux with iproute2", err)
	}
	if err != nil {
		return nil, fmt.Errorf("-hosts: %w", err)
	}
	for _, h := range pair.Hosts {
		p.Hosts = append(p.Hosts, h.Name)
	}
	return pair.Close, nil
}
