//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch"
)

// joinPatience is how long a host that joins a job tries to reach the head.
const joinPatience = 10 * time.Second

// join makes this host join a running job. It returns when the job is over, or when this host
// has left it.
func join(args []string) int {
	b, err := joining(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(os.Stderr, usage)
		return launch.ExitOK
	} else if err != nil {
		return fail("join", err)
	}
	leave := leaveSignals()
	return serve(func() error {
		return launch.Join(context.Background(), b, []string{"/proc/self/exe"}, leave, func() {
			fmt.Fprintf(os.Stderr, "intrarun: host %s has joined the job\n", b.Name)
		})
	})
}

// joining reads the command line of intrarun join.
func joining(args []string) (*spawn.Bootstrap, error) {
	fs := flag.NewFlagSet("join", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	host := new(job.Host)
	fs.StringVar(&host.Name, "name", "", "")
	fs.IntVar(&host.Slots, "slots", 1, "")
	fs.StringVar(&host.Rack, "rack", "", "")
	fs.StringVar(&host.Addr, "addr", "", "")
	encrypt := fs.Bool("tls", false, "")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	b := &spawn.Bootstrap{Version: job.Version, Addresses: fs.Args(), TLS: *encrypt, Patience: joinPatience, Join: host}
	switch {
	case fs.NArg() == 0:
		return nil, errors.New("want the address of the head: usage is intrarun join [flags] HEAD-ADDRESS…")
	case host.Slots < 1:
		return nil, fmt.Errorf("-slots %d: want a number of processes from 1", host.Slots)
	}
	for _, address := range b.Addresses {
		if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
			return nil, fmt.Errorf("%q is no address of a head: want HOST:PORT, as intrarun status shows it", address)
		}
	}
	if host.Addr != "" {
		if _, err := netip.ParseAddr(host.Addr); err != nil {
			return nil, fmt.Errorf("-addr: %w", err)
		}
	}
	var err error
	if host.Name == "" {
		if host.Name, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("find the name of this host (-name gives one): %w", err)
		}
	}
	b.Name = host.Name
	file := os.Getenv(spawn.EnvSecret)
	if file == "" {
		return nil, fmt.Errorf("%s is not set: it names a copy of the file with the secret of the job, which intrarun status shows", spawn.EnvSecret)
	}
	if b.Secret, err = spawn.ReadSecret(file); err != nil {
		return nil, fmt.Errorf("%s: %w", spawn.EnvSecret, err)
	}
	return b, nil
}
