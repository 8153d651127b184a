//go:build linux

package main

import (
	"fmt"
	"io"
	"os"

	"github.com/intrahpc/intra/internal/agent/launcher"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/job"
)

// place determines the hosts, and assigns the processes to them.
func (o *options) place(out io.Writer) error {
	processes := 0
	if o.Links.MPI {
		processes = len(job.Processes(o.Degrees))
	}
	started, err := findLauncher(o.alone, func(text string) {
		if !o.Quiet {
			fmt.Fprintln(out, "intrarun:", text)
		}
	})
	if err != nil {
		return err
	}
	around, err := findHosts(started, o.hosts, o.hostfile, o.HeadAddress, processes)
	if err != nil {
		return err
	}
	o.Indexed, o.Warning = around.indexed, around.warning
	if o.RemoteShell == "" {
		o.RemoteShell = around.rsh
	}
	if around.hosts == nil && o.Least != nil {
		return fmt.Errorf("%s needs several hosts, because their slots say how many replicas there are: add -hosts or -hostfile", o.ranges())
	}
	if around.hosts == nil {
		return nil
	}
	o.facts[hostList] = "several hosts"
	degrees := o.Degrees
	if o.Least != nil && o.Links.MPI {
		return fmt.Errorf("%s and -mpi exclude each other, because all processes have to be in MPI_COMM_WORLD at the start: leave out one of them", o.ranges())
	}
	if o.Least != nil && !o.oversubscribe {
		degrees = job.Fit(o.Least, o.Degrees, around.hosts, o.Spares)
	}
	if o.Placement, err = job.Place(degrees, around.hosts, o.oversubscribe); err != nil {
		return err
	}
	if err = o.Placement.Reserve(o.Spares, around.hosts, o.oversubscribe); err != nil {
		return err
	}
	if o.Replace {
		o.Placement.Keep(around.hosts)
	}
	if o.has("fanout") {
		if err := o.CheckFanout(); err != nil {
			return err
		}
	}
	if o.strict && len(o.Placement.Together) > 0 {
		return fmt.Errorf("-strict-placement: %s", o.Placement.Warning())
	}
	return nil
}

// surroundings describes the hosts that the command line or the environment names.
type surroundings struct {
	hosts   []job.Host     // nil: only this host
	rsh     string         // command prefix that starts a command on one of the hosts
	indexed *spawn.Indexed // role in an indexed job, whose hosts start by themselves
	warning string         // warning about the launcher that names the hosts; "": none
}

// findHosts determines the hosts. started is the role of this process under a launcher, or
// nil. mpi is the number of processes that an MPI launcher must provide, or 0 without -mpi.
func findHosts(started *launcher.Process, list, file, head string, mpi int) (s surroundings, err error) {
	s.rsh = "ssh {host}"
	if mpi > 0 {
		if err := checkMPI(started, mpi); err != nil {
			return s, err
		}
	}
	switch {
	case started != nil && list+file != "":
		return s, fmt.Errorf("%s has started %d processes, and the job runs where they are: leave out -hosts and -hostfile", started.Launcher, started.Size)
	case list != "":
		if s.hosts, err = job.ParseHosts(list); err != nil {
			return s, fmt.Errorf("-hosts: %w", err)
		}
	case file != "":
		f, err := os.Open(file)
		if err != nil {
			return s, fmt.Errorf("-hostfile: %w", err)
		}
		defer f.Close()
		if s.hosts, err = job.ParseHostfile(file, f); err != nil {
			return s, fmt.Errorf("-hostfile: %w", err)
		}
	default:
		if s.indexed, err = spawn.FindIndexed(os.Getenv); err != nil {
			return s, fmt.Errorf("inside an indexed job: %w", err)
		}
		if s.indexed == nil && started != nil {
			if s.indexed, err = meet(started, head); err != nil {
				return s, err
			}
			s.warning = started.Warning(len(s.indexed.Hosts), mpi > 0)
		}
		if s.indexed != nil {
			s.hosts = s.indexed.Hosts
			return s, nil
		}
		if s.hosts, err = job.SlurmHosts(os.Getenv); err != nil {
			return s, fmt.Errorf("inside a Slurm allocation: %w", err)
		}
		s.rsh = job.SlurmShell
	}
	return s, nil
}
