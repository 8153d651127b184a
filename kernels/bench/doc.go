// Package bench measures the kernels: every kernel on every path of this CPU, at sizes for
// each level of the memory, next to a plain Go loop and to the bandwidth of the memory. All
// measurements alternate in one run, so that the ratios hold even if the absolute numbers
// drift.
package bench
