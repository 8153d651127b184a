// Package ntcopy copies memory past the caches, for results that are too large to stay
// in them until they are used. Such a copy also saves fetching the memory that it
// overwrites.
package ntcopy
