// Package simulation holds nothing but a test: whole jobs, of processes that
// exchange messages in every form, share sections, pass safe points, die, are
// replaced and go back to backups, under a head that decides about them. All
// state machines are the real ones; links, time, the memory of processes and
// the choice of what happens next belong to the simulation. One seed replays
// one job.
package simulation
