//go:build !linux

package arena

import (
	"errors"
	"fmt"
	"os"
	"unsafe"
)

// Only on Linux can replicas share memory.

var errPlatform = fmt.Errorf("memory shared by replicas needs Linux: %w", errors.ErrUnsupported)

func createFile() (*os.File, error) { return nil, errPlatform }

func memoryOfMachine() (int, error) { return 0, errPlatform }

func seal(*os.File) error { return errPlatform }

func readHead(*os.File, []byte) (int, error) { return 0, errPlatform }

func mapShared(*os.File, int, int) (unsafe.Pointer, error) { return nil, errPlatform }

func unmap(unsafe.Pointer, int) {}

func mapOver(*os.File, int, unsafe.Pointer, int) error { return errPlatform }

func prepare(unsafe.Pointer, int) error { return errPlatform }

func mapBack(unsafe.Pointer, int) error { return errPlatform }

func clearFile(*os.File, int, int) error { return errPlatform }
