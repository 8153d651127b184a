// Package matrix makes sparse matrices for the kernels: it reads Matrix Market
// files and generates matrices of the kinds that occur, structured and not.
package matrix
