// Package detect decides which hosts are lost, from the times of contacts between
// hosts. It is pure: the caller sends the beats and passes the times.
//
// An Observer watches some hosts. Only a completed round trip counts as a
// contact, so a link that works in one direction only counts as broken. Silence
// is measured in time during which the observer itself was awake: a machine that
// is too busy to run its observer accuses no host. The limit of silence adapts to
// the silences that a host has recently survived, in the manner of accrual
// detectors [phi-accrual] and of Lifeguard's care for the observer's own health.
// One observer is never enough: Convict requires all observers of a host to
// agree, so a host with which any observer has contact is not lost.
package detect
