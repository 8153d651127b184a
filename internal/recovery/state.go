package recovery

import "fmt"

// State is the state of a process [NR, table 1].
type State uint8

// The states of a process.
const (
	Init           State = iota // started, not yet part of the computation; a spare waits in it
	Running                     // computes
	Failure                     // waits for the replacement of a lost rank
	Recover                     // rolls back to the backup
	ReplaceRecover              // a replacement that receives its state
	ReplaceFailure              // a replacement whose recovery was interrupted by another failure
	Finish                      // its program has returned
	Abort                       // cannot recover
)

func (s State) String() string {
	return [...]string{"INIT", "RUNNING", "FAILURE", "RECOVER", "REPLACE_RECOVER", "REPLACE_FAILURE", "FINISH", "ABORT"}[s]
}

// transfers holds the state transfers by their numbers [NR, table 2]. Replication adds the
// numbers after them: a dead replica is replaced while all other processes continue, and a
// finished rank may have to roll back with the other ranks.
var transfers = map[[2]State]int{
	{Init, Init}:                     2,
	{Init, ReplaceRecover}:           3,
	{Init, Abort}:                    4,
	{Init, Running}:                  5,
	{ReplaceRecover, Running}:        6,
	{ReplaceRecover, ReplaceFailure}: 7,
	{ReplaceFailure, ReplaceRecover}: 8,
	{ReplaceFailure, ReplaceFailure}: 9,
	{Running, Finish}:                10,
	{Running, Failure}:               11,
	{Failure, Failure}:               12,
	{Init, Finish}:                   13,
	{Failure, Recover}:               14,
	{Recover, Failure}:               15,
	{Recover, Running}:               16,
	{Running, Abort}:                 17,
	{Failure, Abort}:                 18,
	{ReplaceFailure, Abort}:          19,
	// Transfers that are not in the table of the paper.
	{Finish, Failure}:        20, // its rank takes part in the rollback
	{ReplaceRecover, Abort}:  21, // drawn only once in the paper's diagram
	{Recover, Abort}:         22,
	{ReplaceFailure, Finish}: 23, // the job ends while the process is being replaced
	{ReplaceRecover, Finish}: 24,
}

// to moves a process to a state.
func (s *replica) to(next State) {
	if s.state == next && next != Init && next != Failure && next != ReplaceFailure {
		return
	}
	if transfers[[2]State{s.state, next}] == 0 {
		panic(fmt.Sprintf("recovery: %v goes from %v to %v", s.process, s.state, next))
	}
	s.state = next
}
