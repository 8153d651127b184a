//go:build !linux

package arena

import (
	"errors"
	"fmt"
	"os"
	"unsafe"
)

// Elsewhere than on Linux replicas share no memory.

var errPlatform = fmt.Errorf("memory shared by replicas needs Linux: %w", errors.ErrUnsupported)

func createFile() (*os.File, error) { return nil, errPlatform }

func memoryOfMachine() (int, error) { return 0, errPlatform }

func seal(*os.File) error { return errPlatform }

func readHead(int, []byte) (int, error) { return 0, errPlatform }

func mapShared(int, int) (unsafe.Pointer, error) { return nil, errPlatform }

func giveBack([]byte) {}
