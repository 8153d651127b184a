// Package hugepage requests huge pages for large arrays, which saves address
// translation.
package hugepage
