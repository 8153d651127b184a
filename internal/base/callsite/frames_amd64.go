package callsite

const framePointers = true

// frames sets the return addresses of the caller of its caller, and of the functions that
// called that one. They are those of the frames on the stack, in which inlined functions
// have no part. It is much faster than runtime.Callers.
//
//go:noescape
func frames(to *calls)
