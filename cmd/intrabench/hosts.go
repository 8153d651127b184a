//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// hostsFlag defines the flag that puts the two processes of a job on separate hosts.
func hostsFlag(fs *flag.FlagSet) *bool {
	return fs.Bool("hosts", false, "run the processes of a job on two hosts, network namespaces with a cable between them, over TCP (as root)")
}

// limited returns the configurations for links of a bandwidth: one that shares if that saves
// time, one that always shares and, with a lag, one that keeps results. Between hosts, the
// native run has such links, too.
func limited(c figures.Config, between bool, lag time.Duration) (all []figures.Config) {
	if between {
		all = figures.Beside(c)
		c = all[1]
	} else {
		all = []figures.Config{c}
	}
	all = append(all, figures.Forced(c))
	if lag > 0 {
		all = append(all, figures.Kept(c, lag))
	}
	return all
}

// withKept adds a configuration that keeps results, if there is a lag.
func withKept(configs []figures.Config, between bool, lag time.Duration) []figures.Config {
	switch {
	case lag == 0:
		return configs
	case between:
		return append(configs, figures.Kept(figures.Send, lag))
	}
	return append(configs, figures.Kept(figures.Auto, lag))
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
