// Package bench measures the kernels: every kernel on every path this CPU has,
// at sizes that live in each level of the memory, next to a plain Go loop and
// to what the memory can do. Everything is measured in alternation in one run,
// so that the ratios hold even where the absolute numbers drift.
package bench
