package checked

import (
	"bytes"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
)

// The state of the runtime behind an argument, such as a communicator, changes by itself: only what
// belongs to the program is followed.
func TestStateOfTheRuntimeIsNotFollowed(t *testing.T) {
	for of, want := range map[reflect.Type]bool{
		reflect.TypeFor[comm.Comm]():    true,
		reflect.TypeFor[Section]():      true,
		reflect.TypeFor[sync.Mutex]():   true,
		reflect.TypeFor[bytes.Buffer](): false,
		reflect.TypeFor[float64]():      false,
	} {
		require.Equal(t, want, foreign(of), of)
	}
}
