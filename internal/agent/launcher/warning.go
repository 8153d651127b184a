package launcher

// spares is whether a launcher spares the other processes when one dies that it has started:
// with a host its agent is lost, which it has started.
type spares uint8

const (
	unknown  spares = iota // as far as the environment says
	notAsked               // it would if it had been asked to
	never
)

// Warning says what happens to a job on so many hosts after a death that the job would
// survive, if the launcher does not; "" if it does, or if that cannot be known. mpi is
// whether the job uses its MPI library.
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
