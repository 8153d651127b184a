package launcher

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lookAgain    = 20 * time.Millisecond // time between two looks at the folder
	refreshAgain = time.Second           // time between two refreshes of the file system
	readBy       = 10 * time.Second      // how long the first process waits until the others have read all words
)

// meeting exchanges words between processes through files. The first process makes the folder,
// collects a word from each process, and writes all of them into one file. The name of the
// folder can be guessed, so every process checks its owner and mode before any use. The folder
// may be left over from a job of the same name. So a process accepts the file only if it
// contains the process's own current word.
type meeting struct {
	dir        string
	rank, size int
	word       entry
}

// entry is the content of a process's file in the folder.
type entry struct {
	Fresh string // random, so that an entry differs from all earlier ones
	Word  []byte
}

// allWords is the name of the file with all words, by rank.
const allWords = "all"

// gatherFolder exchanges words through files. The first process removes them when all
// processes have read them, or when a process is missing.
func gatherFolder(ctx context.Context, dir string, rank, size int, word []byte) ([][]byte, error) {
	m := &meeting{dir, rank, size, entry{rand.Text(), word}}
	if rank == 0 {
		return m.host(ctx)
	}
	return m.visit(ctx)
}

// host exchanges words as the first process.
func (m *meeting) host(ctx context.Context) (_ [][]byte, err error) {
	if err := m.create(); err != nil {
		return nil, err
	}
	defer func() {
		if removed := remove(m.dir); err == nil {
			err = removed
		}
	}()
	root, err := openOwn(m.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries := make([]entry, m.size)
	entries[0] = m.word
	for i := 1; i < m.size; i++ {
		err := poll(ctx, m.dir, func() error { return readJSON(root, strconv.Itoa(i), &entries[i]) })
		if err != nil {
			return nil, m.absent(i, err)
		}
	}
	all := make([][]byte, m.size)
	for i := range entries {
		all[i] = entries[i].Word
	}
	if err := putJSON(root, allWords, entries); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readBy)
	defer cancel()
	for i := 1; i < m.size; i++ {
		err := poll(ctx, m.dir, func() error {
			_, err := root.Lstat(read(i))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("process %d of %d has not read the folder %s: %w", i, m.size, m.dir, err)
		}
	}
	return all, nil
}

// visit exchanges words as one of the other processes.
func (m *meeting) visit(ctx context.Context) (all [][]byte, err error) {
	err = poll(ctx, filepath.Dir(m.dir), func() (err error) {
		all, err = m.look()
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, m.absent(0, err)
	}
	return all, err
}

// look puts the word of this process into the folder. It returns all words if they are there,
// otherwise fs.ErrNotExist.
func (m *meeting) look() ([][]byte, error) {
	root, err := openOwn(m.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := strconv.Itoa(m.rank)
	var mine entry
	switch err := readJSON(root, name, &mine); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case mine.Fresh != m.word.Fresh: // the first process has made the folder meanwhile
		if err := putJSON(root, name, m.word); err != nil {
			return nil, err
		}
	}
	var entries []entry
	if err := readJSON(root, allWords, &entries); err != nil {
		return nil, err
	}
	if len(entries) != m.size || entries[m.rank].Fresh != m.word.Fresh || !bytes.Equal(entries[m.rank].Word, m.word.Word) {
		return nil, fs.ErrNotExist // an earlier job wrote the entries
	}
	all := make([][]byte, m.size)
	for i := range entries {
		all[i] = entries[i].Word
	}
	return all, put(root, read(m.rank), nil)
}

// read returns the name of the file by which process i reports that it has read all entries.
func read(i int) string { return strconv.Itoa(i) + ".read" }

func (m *meeting) absent(i int, err error) error {
	return fmt.Errorf("process %d of %d has not come to the folder %s: do all hosts share it (%s=FOLDER)? %w", i, m.size, m.dir, EnvFolder, err)
}

// create makes the folder. It replaces a left-over one of this user.
func (m *meeting) create() error {
	err := os.Mkdir(m.dir, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := openOwn(m.dir)
	if err != nil {
		return err
	}
	root.Close()
	if err := remove(m.dir); err != nil {
		return fmt.Errorf("remove a folder that is left over: %w", err)
	}
	return os.Mkdir(m.dir, 0o700)
}

// remove removes the folder. It tries again if the folder is not empty, because another
// process of the job has just put its word there.
func remove(dir string) (err error) {
	for range 10 {
		if err = os.RemoveAll(dir); !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
		time.Sleep(lookAgain)
	}
	return err
}

// openOwn opens a folder that only this user can have filled. It returns
// fs.ErrNotExist if there is none yet.
func openOwn(dir string) (*os.Root, error) {
	named, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if err := own(dir, named, fs.ModeDir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s was replaced while it was being opened", dir)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// own returns nil if a file or folder has that type, belongs to this user, and cannot be
// changed or read by other users.
func own(path string, s fs.FileInfo, typ fs.FileMode) error {
	owner := s.Sys().(*syscall.Stat_t)
	cure := fmt.Sprintf("remove it, or have the processes meet elsewhere (%s=FOLDER)", EnvFolder)
	switch {
	case s.Mode().Type() != typ:
		return fmt.Errorf("%s is %v, want what intrarun has made: %s", path, s.Mode(), cure)
	case int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, want %d: %s", path, owner.Uid, os.Geteuid(), cure)
	case s.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %v, want no access of other users: %s", path, s.Mode(), cure)
	}
	return nil
}

// readJSON reads a file of this user.
func readJSON(root *os.Root, name string, v any) error {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := f.Stat()
	if err != nil {
		return err
	}
	if err := own(filepath.Join(root.Name(), name), s, 0); err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(root.Name(), name), err)
	}
	return nil
}

func putJSON(root *os.Root, name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return put(root, name, b)
}

// put writes a file atomically.
func put(root *os.Root, name string, content []byte) error {
	fresh := name + ".new"
	f, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(fresh, name)
}

// poll calls try until it succeeds or ctx is done. dir is the folder in which the
// awaited file appears.
func poll(ctx context.Context, dir string, try func() error) error {
	refreshed := time.Now()
	for {
		err := try()
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if time.Since(refreshed) > refreshAgain {
			refreshed = time.Now()
			refresh(dir)
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// refresh makes a network file system ask its server for the content of a folder. Otherwise
// its client may remember for half a minute that a file does not exist. A change of the folder
// by this host has that effect.
func refresh(dir string) {
	if f, err := os.CreateTemp(dir, ".intra-look-*"); err == nil {
		f.Close()
		os.Remove(f.Name())
	}
}
