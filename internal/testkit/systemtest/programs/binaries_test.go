//go:build system

package programs

import (
	"os"
	"testing"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// binaries are the programs that the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }
