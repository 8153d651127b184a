// Package ntcopy copies memory past the caches. It is for results that are too large to
// stay in a cache until they are used. Such a copy also avoids fetching the memory that it
// overwrites.
package ntcopy
