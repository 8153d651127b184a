// Package commtest makes random programs of messages and collectives, in which
// every rank knows what it has to observe, or observes what a run without
// replicas does. It is for tests of this module.
package commtest
