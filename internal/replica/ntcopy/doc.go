// Package ntcopy copies memory past the caches. It is for results that are too large to
// stay in a cache until they are used, and for memory that another core has in its caches.
// Such a copy also avoids fetching the memory that it overwrites.
package ntcopy
