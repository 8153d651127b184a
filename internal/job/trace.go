package job

// Trace hands a block of the timeline to the head. It blocks until that is in the
// kernel's hands, so it survives this process. An error is one of the connection,
// which Next reports.
func (s *Session) Trace(block []byte) { _ = s.say(&Message{Kind: KindTrace, Trace: block}) }
