// Package timeline records what the processes of a job do, and writes it as a file in the
// trace event format of Chrome, which Perfetto opens.
//
// A process has a [Recorder], which keeps the newest events in a ring. At intervals it
// encodes them as blocks of some twenty bytes an event, and the process sends these to the
// head. The head of the job keeps the newest blocks of all processes in a [File]. At the
// end it puts their events on one time axis, lays them out in rows, and draws arrows.
package timeline
