// Package simulation holds nothing but a test: whole jobs, of processes that
// exchange messages in every form, share sections, pass safe points, die, are
// replaced and go back to backups, under heads that are lost and followed by
// others. All state machines are the real ones, that of internal/head and of the agents' logs among
// them; links, time, the memory of processes, the hands of the agents, the log of the
// decisions and the choice of what happens next belong to the simulation. One seed
// replays one job.
package simulation
