// Package timeline records what the processes of a job do, and writes it as a
// file in the trace event format of Chrome, which Perfetto opens.
//
// A process has a [Recorder], which keeps the newest events in a ring, and at
// intervals hands them over as blocks of some twenty bytes an event. The head of
// the job keeps the newest blocks of all processes in a [File]. At the end it
// puts them on one time axis, lays them out in rows, and draws arrows.
package timeline
