// Package detect decides which hosts are lost, from the times of contacts between hosts.
// It does no I/O and reads no clock: the caller sends the beats and passes the times.
//
// An Observer watches some hosts. Only a completed round trip counts as a contact, so a
// link that works in only one direction counts as broken. Silence is measured in time
// during which the observer itself was running: a machine that is too busy to run its
// observer suspects no host. The limit of silence adapts to the silences after which a
// host has recently answered, as in accrual detectors [phi-accrual]. Like Lifeguard, the
// observer takes its own delays into account. One observer never suffices: Judge
// requires that all observers of a host agree, so a host with which any observer has
// contact is not lost.
package detect
