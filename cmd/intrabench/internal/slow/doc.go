// Package slow measures what a section takes when one of its two replicas is
// slower than the other, beside the least that two such replicas could take.
package slow
