package job

// Trace sends a block of the timeline to the head. It returns once the kernel has the
// block, which thus survives this process. Next reports an error of the connection.
func (s *Session) Trace(block []byte) { _ = s.say(&Message{Kind: KindTrace, Trace: block}) }
