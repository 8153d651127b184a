// Package grain measures how short a section may be and still save time. For each way to run a
// section it reports the time relative to the work, and the minimum effective task granularity
// METG(50 %). That is the least work of a core at which half of the core's time is work
// [Slaughter et al., Task Bench, SC20].
package grain
