//go:build intra

package intra

// Tagged reports whether the program was built with the intra tag, so that
// its annotated sections share work.
const Tagged = true
