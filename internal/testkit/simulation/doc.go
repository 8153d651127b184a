// Package simulation contains only a test, which simulates whole jobs. Their processes
// exchange messages in every form, share sections, write output files, pass safe points, die,
// are replaced and roll back to backups. Their heads are lost and replaced, too. In the jobs of
// TestSimulationOfMoves, hosts and processes also leave on notice, hosts join, heads hand over,
// and ranks get other numbers of replicas. All state machines are the
// real ones, including those of internal/head and of the agents' logs. The simulation
// provides links, time, the memory of processes, the actions of the agents, the log of the
// decisions, and the choice of the next event. One seed replays one job.
package simulation
