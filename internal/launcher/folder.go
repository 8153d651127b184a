package launcher

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Between two looks at the folder, and from the last until it is removed at the
// latest.
const (
	lookAgain = 20 * time.Millisecond
	readBy    = 10 * time.Second
)

// gatherFolder exchanges words through files, one of each process. The first one
// removes them when all have read all.
func gatherFolder(ctx context.Context, dir string, rank, size int, word []byte) ([][]byte, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := put(filepath.Join(dir, strconv.Itoa(rank)), word); err != nil {
		return nil, err
	}
	all := make([][]byte, size)
	for i := range all {
		err := poll(ctx, func() (err error) {
			all[i], err = os.ReadFile(filepath.Join(dir, strconv.Itoa(i)))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("process %d of %d has not come to the folder %s: do all hosts share it (%s=FOLDER)? %w", i, size, dir, EnvFolder, err)
		}
	}
	read := func(i int) string { return filepath.Join(dir, strconv.Itoa(i)+".read") }
	if rank > 0 {
		return all, put(read(rank), nil)
	}
	ctx, cancel := context.WithTimeout(ctx, readBy)
	defer cancel()
	for i := 1; i < size; i++ {
		err := poll(ctx, func() error {
			_, err := os.Stat(read(i))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("process %d of %d has not read the folder %s: %w", i, size, dir, err)
		}
	}
	return all, os.RemoveAll(dir)
}

// put writes a file that is never seen in part.
func put(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// poll tries until it has succeeded or ctx is done.
func poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		if !os.IsNotExist(err) {
			return err
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
