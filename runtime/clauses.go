package runtime

import (
	"fmt"
	"os"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/base/clauses"
)

// Clauses checks that the launchers of a file match their kernels. Generated code calls it
// when the program starts. file is the name of the file with the launchers. source is the
// text of the file with the kernels. fingerprint is the hash of the clauses and signatures
// from which the launchers were made.
//
// If they differ, tasks would use other memory than their clauses name. So Clauses ends a
// program that shares work. A build without the tag intra shares work only in launchers
// that are called by hand. Clauses therefore ends such a program only when it begins as one
// of several replicas.
func Clauses(file, source, fingerprint string) struct{} {
	if clauses.Fingerprint(source) != fingerprint {
		if intra.Tagged {
			fmt.Fprintln(os.Stderr, bridge.OutOfDateError(file))
			os.Exit(2) // the exit code of a program that a job refuses
		}
		bridge.OutOfDate = append(bridge.OutOfDate, file)
	}
	return struct{}{}
}
