package recovery

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// Loss is the reason why the head ends a job that cannot be saved. Either a rank has no
// live replica and cannot get one. Or the job was rolling back and lost the state of a
// rank in the backup; live replicas of that rank cannot continue then.
type Loss struct {
	Rank int
	Why  string
	// Back means that the state of Rank in the backup was lost during the rollback to it.
	// Number is the safe point of that backup, Reason why the rollback began.
	Back   bool
	Number uint64
	Reason
	By job.Endpoint // the process whose death took the last copy of the state
}

// Error describes what is lost and why.
func (l Loss) Error() string {
	if l.Back {
		since := "was lost"
		switch {
		case l.Blamed != nil:
			since = fmt.Sprintf("had a process that was convicted of a wrong result, %v", l.Blamed.Process)
		case l.Disputed:
			since = "was in doubt"
		}
		return fmt.Sprintf("the job cannot go back to safe point %d, as it had to since rank %d %s: %s", l.Number, l.Since, since, l.Why)
	}
	return fmt.Sprintf("rank %d could not be brought back: %s", l.Rank, l.Why)
}

// loss returns the reason why the job has to end, nil if it can continue.
func (h *Head) loss() *Loss {
	failed := h.replicas.Failed()
	if i := slices.Index(failed, h.back.Since); i > 0 { // name the rank that began the rollback first
		failed[0], failed[i] = failed[i], failed[0]
	}
	for _, rank := range failed {
		if !h.backups.returns() && h.back.begun {
			return h.backupLost()
		}
		if !h.backups.returns() {
			return &Loss{Rank: rank, Why: h.noBackup()}
		}
		if !h.replicas.coming(rank) && !h.replicas.pausing(rank) {
			return &Loss{Rank: rank, Why: h.noReplacement(rank)}
		}
	}
	if !h.backups.returns() { // processes that have left their old generation cannot continue it
		return h.backupLost()
	}
	return nil
}

func (h *Head) backupLost() *Loss {
	void := h.backups.nowhere()
	return &Loss{Rank: void, Back: true, Number: h.back.number, Reason: h.back.Reason, By: h.backups.voidBy,
		Why: fmt.Sprintf("the last process that held the state of rank %d is dead", void)}
}

// noBackup returns why the job has no backup to roll back to.
func (h *Head) noBackup() string {
	switch {
	case !h.config.Backup.on():
		return "no backup was asked for"
	case len(h.config.Degrees) == 1:
		return "a job of one rank has no other rank to hold its backup"
	case h.backups.nowhere() >= 0:
		return fmt.Sprintf("all processes that held the last backup of rank %d are dead", h.backups.nowhere())
	}
	return "no backup was complete yet"
}

// noReplacement returns why a lost rank gets no new process.
func (h *Head) noReplacement(rank int) string {
	refused, itself := "", true
	for _, s := range h.replicas.slots {
		if s.process.Rank == rank {
			itself = itself && s.itself
			if refused == "" {
				refused = s.refused
			}
		}
	}
	switch {
	case refused != "":
		return "no process takes its place: " + refused
	case itself:
		return "its program ended by itself, and a replacement would do the same"
	case !h.replicas.usable():
		return "no process is left to take its place"
	}
	return "its replacements died too"
}
