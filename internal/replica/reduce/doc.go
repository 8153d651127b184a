// Package reduce holds the partial results of the tasks of a section. Each task writes its
// partial result into memory of its own. When the section ends, the partial results are
// combined with (folded into) their variables in launch order. So the bits of the result
// do not depend on which replica ran which task, or when.
package reduce
