// Package hugepage asks the system for huge pages for the memory of large
// arrays, which saves address translation.
package hugepage
