package launcher

// spares is the launcher's behaviour when one of its processes dies: whether it lets the
// others run. The loss of a host also ends that host's agent, which is one of these processes.
type spares uint8

const (
	unknown  spares = iota // the environment does not show it
	notAsked               // the launcher spares them only with an option that was not given
	never
)

// Warning describes how the launcher ends a job on that number of hosts after a death that the job
// itself would survive. It returns "" if the launcher lets the job continue, or if its behaviour is
// unknown. mpi means that the job uses the launcher's MPI library.
func (p *Process) Warning(hosts int, mpi bool) string {
	switch {
	case p.spares == notAsked && hosts > 1:
		return "mpirun ends the job when a host is lost: start it with mpirun --enable-recovery"
	case p.spares == notAsked && mpi:
		return "mpirun complains of a process that dies, and ends with exit code 1 however the job ends: start it with mpirun --enable-recovery"
	case p.spares == never && hosts > 1:
		return p.Launcher + " ends the job when a host is lost; mpirun --enable-recovery of Open MPI and srun --no-kill --kill-on-bad-exit=0 do not"
	}
	return ""
}
