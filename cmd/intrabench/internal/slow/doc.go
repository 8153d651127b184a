// Package slow measures the time of a section when one of its two replicas is slower than
// the other, relative to the least possible time for two such replicas.
package slow
