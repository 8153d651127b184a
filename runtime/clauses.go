package runtime

import (
	"fmt"
	"os"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/base/clauses"
)

// Clauses checks that the launchers of a file are those of its kernels. Generated code
// calls it when the program starts: file is the name of the file with the launchers,
// source the text of the file with the kernels, and fingerprint that of the clauses and
// signatures that the launchers were made from. If they differ, tasks would name other
// memory than their clauses: the program ends if it shares work. A build without the tag
// intra shares only where launchers are called by hand, so there it ends when it begins
// as a replica among others.
func Clauses(file, source, fingerprint string) struct{} {
	if clauses.Fingerprint(source) != fingerprint {
		if intra.Tagged {
			fmt.Fprintln(os.Stderr, bridge.OutOfDateError(file))
			os.Exit(2) // as a program that a job refuses
		}
		bridge.OutOfDate = append(bridge.OutOfDate, file)
	}
	return struct{}{}
}
