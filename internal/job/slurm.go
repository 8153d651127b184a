package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SlurmShell starts a command on a host of the caller's allocation. The command may use all
// processors of the host. The other commands continue when it ends, and when a host is
// lost.
const SlurmShell = "srun --nodes=1 --ntasks=1 --nodelist={host} --overlap --no-kill --kill-on-bad-exit=0 --cpu-bind=none --mpi=none --quiet"

// SlurmHosts returns the hosts of the Slurm allocation in the environment, with a slot for
// each task. It returns nil if the environment describes none.
func SlurmHosts(getenv func(string) string) ([]Host, error) {
	if getenv("SLURM_JOB_ID") == "" {
		return nil, nil
	}
	list := getenv("SLURM_JOB_NODELIST")
	var names []string
	for _, item := range splitOutside(list) {
		expanded, err := ExpandNames(item)
		if err != nil {
			return nil, fmt.Errorf("SLURM_JOB_NODELIST=%s: %w", list, err)
		}
		names = append(names, expanded...)
	}
	variable := "SLURM_TASKS_PER_NODE"
	if getenv(variable) == "" {
		variable = "SLURM_JOB_CPUS_PER_NODE"
	}
	slots, err := slurmCounts(getenv(variable))
	if err != nil || len(slots) != len(names) {
		return nil, fmt.Errorf("%w: %s=%s does not fit SLURM_JOB_NODELIST=%s", ErrHosts, variable, getenv(variable), list)
	}
	hosts := make([]Host, len(names))
	for i := range hosts {
		hosts[i] = Host{Name: names[i], Slots: slots[i]}
	}
	if len(hosts) == 1 && hosts[0].Name == getenv("SLURMD_NODENAME") {
		return nil, nil // only this host
	}
	return hosts, distinct(hosts)
}

// slurmCounts reads one number per host, like 2(x3),1.
func slurmCounts(s string) ([]int, error) {
	var all []int
	for item := range strings.SplitSeq(s, ",") {
		times := 1
		count, rest, repeated := strings.Cut(item, "(x")
		n, err := strconv.Atoi(count)
		if err == nil && repeated {
			times, err = strconv.Atoi(strings.TrimSuffix(rest, ")"))
		}
		if err != nil || n < 1 || times < 1 || times > maxHosts {
			return nil, fmt.Errorf("%w: %q is not a count like 2(x3)", ErrHosts, item)
		}
		all = append(all, slices.Repeat([]int{n}, times)...)
	}
	return all, nil
}
