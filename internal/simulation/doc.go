// Package simulation holds nothing but a test: whole jobs of replicated
// processes that exchange messages, take part in collectives and share
// sections, with random programs, delays and deaths. One seed replays one job.
package simulation
