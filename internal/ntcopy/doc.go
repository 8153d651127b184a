// Package ntcopy copies memory past the caches: for results that are too large
// to stay there until they are used, which besides need not be fetched to be
// overwritten.
package ntcopy
