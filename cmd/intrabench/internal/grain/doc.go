// Package grain measures how short a section may be and still pay: its time over the work in
// it, in each way to run it, and the minimum effective task granularity METG(50 %), the work
// of a core from which on half of the time is work [Slaughter et al., Task Bench, SC20].
package grain
