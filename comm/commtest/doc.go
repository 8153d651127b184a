// Package commtest makes random programs of messages and collectives. Every rank of them
// knows what it has to observe, or observes the same as in a run without replicas. The
// package is for tests of this module.
package commtest
