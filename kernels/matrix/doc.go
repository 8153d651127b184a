// Package matrix makes sparse matrices for the kernels: it reads Matrix Market files and
// generates typical structured and unstructured matrices.
package matrix
