// Lossy runs a command on a host that will lose its pages. It serves a file system that
// keeps written data in its own memory, like the page cache of a host. An fsync, or the
// close of a file, writes the data to the underlying folder, which all hosts share. If
// lossy is killed, the other data is lost.
//
//	lossy [-mortal] [-quota BYTES [-late]] FOLDER MOUNTPOINT COUNTER COMMAND [args]
//
// With -mortal the close of a file drops the data instead. So a process that is killed loses what
// it has not synchronized, as if its host were lost.
//
// COUNTER is a file that contains the number of bytes that would be lost now. A quota bounds the
// bytes of all files of the folder together: a write that exceeds it fails. With -late the write
// succeeds and the fsync fails, as over a network.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

func main() {
	quota := flag.Int64("quota", math.MaxInt64, "bytes that the files have together at most")
	late := flag.Bool("late", false, "exceed the quota in fsync, not in write")
	mortal := flag.Bool("mortal", false, "drop the data that was not synchronized when a file is closed")
	flag.Parse()
	if flag.NArg() < 4 {
		fmt.Fprintln(os.Stderr, "usage: lossy [-mortal] [-quota BYTES [-late]] FOLDER MOUNTPOINT COUNTER COMMAND [args]")
		os.Exit(2)
	}
	own := &cache{files: make(map[uint64]*pages), folder: flag.Arg(0), quota: *quota, late: *late, mortal: *mortal}
	code, err := run(own, flag.Arg(1), flag.Arg(2), flag.Args()[3:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "lossy:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(pages *cache, mount, counter string, command []string) (_ int, err error) {
	pages.count, err = os.Create(counter)
	if err != nil {
		return 0, err
	}
	root, err := fs.NewLoopbackRoot(pages.folder)
	if err != nil {
		return 0, err
	}
	data := root.(*fs.LoopbackNode).RootData
	data.NewNode = func(data *fs.LoopbackRoot, _ *fs.Inode, _ string, _ *syscall.Stat_t) fs.InodeEmbedder {
		return &node{LoopbackNode: fs.LoopbackNode{RootData: data}, cache: pages}
	}
	own := &node{LoopbackNode: fs.LoopbackNode{RootData: data}, cache: pages}
	data.RootNode = own
	// No attributes are cached between two calls, because other hosts change the folder,
	// too.
	server, err := fs.Mount(mount, own,
		&fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: pages.folder, Name: "lossy"}})
	if err != nil {
		return 0, fmt.Errorf("mount: %w", err)
	}
	if err := keepDescriptors(); err != nil {
		return 0, err
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM) // the command decides when to end
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	// Processes of the command may still have open files. The mount vanishes with the
	// namespace.
	_ = server.Unmount()
	if err != nil {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// keepDescriptors prevents the command from inheriting the connection to the kernel. As
// long as another process holds it, the kernel waits for answers even after the death of
// this process.
func keepDescriptors() error {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range all {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
