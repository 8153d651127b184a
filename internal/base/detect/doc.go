// Package detect decides, from who heard whom and when, which hosts are lost.
// It is pure: the caller sends the beats and tells the times.
//
// An Observer watches some hosts. Only completed round trips count as hearing
// a host, so that a link which carries one direction only is as bad as none.
// Silence is counted in time during which the observer itself was awake: a
// machine that is too busy to run its observer accuses nobody. How much silence
// is too much adapts to how silent the host has been lately and lived, in the
// manner of accrual detectors [phi-accrual] and of Lifeguard's care for the
// observer's own health. One observer is never enough: Convict wants all that
// watch a host to agree, so a host that anybody hears is not lost.
package detect
