package engine

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/section"
)

// ErrDiverged means that the replicas of a rank did not execute the same program.
var ErrDiverged = errors.New("replicas diverged")

// ErrRefused means that a process cannot run the job as requested.
var ErrRefused = errors.New("the job is refused")

// diverged converts a divergence that the protocol found into an error for the program.
func diverged(err error) error {
	var d *section.Divergence
	if errors.As(err, &d) && !errors.Is(err, ErrDiverged) {
		return fmt.Errorf("%w: %w", ErrDiverged, err)
	}
	return err
}

// failure classifies an error for the head.
func failure(err error) job.Failure {
	f := job.Failure{Kind: job.FailError, Text: diverged(err).Error()}
	if errors.Is(diverged(err), ErrDiverged) {
		f.Kind = job.FailDivergence
	} else if errors.Is(err, ErrCorrupt) {
		f.Kind = job.FailCorruption
	}
	return f
}
