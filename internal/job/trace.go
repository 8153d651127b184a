package job

// Trace sends a block of the timeline to the head. When it returns, the kernel has the
// block, which then arrives even if this process dies. Next reports an error of the
// connection.
func (s *Session) Trace(block []byte) { _ = s.say(&Message{Kind: KindTrace, Trace: block}) }
