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

// place finds the hosts, and where on them the processes run.
func (o *options) place(out io.Writer) error {
	processes := 0
	if o.MPI {
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
	if around.hosts == nil {
		return nil
	}
	o.facts[hostList] = "several hosts"
	if o.Placement, err = job.Place(o.Degrees, around.hosts, o.oversubscribe); err != nil {
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

// surroundings are the hosts that the command line or the environment names.
type surroundings struct {
	hosts   []job.Host     // nil: only this one
	rsh     string         // what starts a command on one of them
	indexed *spawn.Indexed // they come by themselves
	warning string         // of the launcher that they come from; "": none
}

// findHosts finds the hosts. started is what a launcher makes of this process, nil if
// none has started it; mpi is how many processes are to be those of an MPI launcher, 0
// without -mpi.
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
