//go:build !linux

package job

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/intrahpc/intra/transport"
)

// On systems other than Linux a program runs unreplicated, or as a job in one process over
// links in memory.

var errPlatform = fmt.Errorf("jobs of several processes need Linux: %w", errors.ErrUnsupported)

// inherited reports that no launcher has started this process.
func inherited() (Inheritance, bool, error) { return Inheritance{}, false, nil }

func reportCrashes(*os.File) (*os.File, error) { return nil, errPlatform }

// File returns an error.
func (s *Secret) File() (*os.File, error) { return nil, errPlatform }

// LinkFiles returns an error.
func LinkFiles(string, int) (lower, higher *os.File, err error) { return nil, nil, errPlatform }

// Links cannot make a link on this system.
type Links struct{}

// NewLinks returns Links, whose Open always fails.
func NewLinks() Links { return Links{} }

// Open returns an error.
func (Links) Open(string, *os.File, bool) (transport.Link, error) { return nil, errPlatform }

// DefaultRing is the size of a shared-memory ring in bytes, on systems that have such
// rings.
const DefaultRing = 4 << 20

// Conn is a control connection. This system has none.
type Conn struct{}

// NewConn returns an error.
func NewConn(*os.File) (*Conn, error) { return nil, errPlatform }

// Write returns an error.
func (*Conn) Write(*Message, ...*os.File) error { return errPlatform }

// Read returns an error.
func (*Conn) Read() (*Message, []*os.File, error) { return nil, nil, errPlatform }

// Ended returns true.
func Ended(error) bool { return true }

// PID returns 0.
func (*Conn) PID() int { return 0 }

// SetDeadline does nothing.
func (*Conn) SetDeadline(time.Time) error { return nil }

// Close does nothing.
func (*Conn) Close() error { return nil }
