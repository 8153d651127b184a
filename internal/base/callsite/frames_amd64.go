package callsite

const framePointers = true

// frames sets the return addresses of the caller of its caller, and of the callers above
// that one. It walks the frames on the stack, so it does not see inlined functions. It is
// much faster than runtime.Callers.
//
//go:noescape
func frames(to *calls)
