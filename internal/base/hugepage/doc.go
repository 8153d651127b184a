// Package hugepage requests huge pages for large arrays, so that the processor needs fewer
// address translations.
package hugepage
