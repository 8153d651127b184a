// Package commtest makes random programs of messages and collectives. Every rank knows
// which values it must observe, or its observations are compared with those of a run
// without replicas. The package is for tests of this module.
package commtest
