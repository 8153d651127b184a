// Package bench measures every kernel on every path of this CPU, at sizes for each level of
// the memory hierarchy. It compares them with a plain Go loop and with the bandwidth of the
// memory. All measurements alternate in one run, so that the ratios hold even if the
// absolute numbers drift.
package bench
