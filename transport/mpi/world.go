//go:build mpi && linux

package mpi

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/transport/mpi/internal/ccall"
)

// launchers are the variables with the number of processes that a launcher has
// started.
var launchers = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}

// World is the process's part in MPI_COMM_WORLD. A process has at most one.
type World struct {
	lib        *library
	level      int32 // thread level
	rank, size int
	stop       chan struct{}
	ended      chan error    // result of MPI_Finalize
	bell       chan struct{} // rung when a link loses its last attention

	streaming atomic.Int32  // number of large frames under way
	looks     atomic.Int32  // how often completeSoon checks for a packet of a link
	deaths    atomic.Int32  // number of reports of a death
	blocked   time.Duration // constant, except in a test

	calling sync.Mutex // held during each call of the library
	call    ccall.Call
	met     []bool // ranks to which this process has sent something

	mu       sync.Mutex
	links    []*link
	kept     []*link // ended links with requests that never complete; never freed
	tags     map[[2]int]bool
	finished bool
	leave    request // request of the barrier before the end
}

// Init loads a library and joins MPI_COMM_WORLD.
func Init() (*World, error) {
	started := make(chan error)
	w := &World{stop: make(chan struct{}), ended: make(chan error, 1), bell: make(chan struct{}, 1), tags: map[[2]int]bool{}, blocked: blocked}
	go func() {
		// The thread that has initialized the library must finalize it.
		runtime.LockOSThread()
		if err := w.init(); err != nil {
			started <- fmt.Errorf("start MPI: %w", err)
			return
		}
		started <- nil
		<-w.stop
		w.ended <- w.finalize()
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	go w.run() // on any thread, since switching to a locked one is slow
	return w, nil
}

func (w *World) init() error {
	if err := tame(); err != nil {
		return err
	}
	var err error
	if w.lib, err = load(os.Getenv); err != nil {
		return err
	}
	fn, out := &w.lib.entries, new([3]int32)
	rc, _, _ := purego.SyscallN(fn[initThread], 0, 0, serialized, uintptr(unsafe.Pointer(&out[0])))
	if err := code(rc).err(initThread); err != nil {
		return fmt.Errorf("%s: %w", w.lib.version, err)
	}
	if err := w.lib.enough(out[0]); err != nil {
		return err
	}
	w.level = out[0]
	purego.SyscallN(fn[setErrhandler], w.lib.world, w.lib.errorsReturn)
	purego.SyscallN(fn[commRank], w.lib.world, uintptr(unsafe.Pointer(&out[1])))
	purego.SyscallN(fn[commSize], w.lib.world, uintptr(unsafe.Pointer(&out[2])))
	w.rank, w.size = int(out[1]), int(out[2])
	w.met = make([]bool, w.size)
	for _, name := range launchers {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n != w.size {
			return fmt.Errorf("the launcher has started %d processes (%s), but MPI_COMM_WORLD has %d: %s (%s) is not the launcher's library; set %s to that",
				n, name, w.size, w.lib.version, w.lib.name, LibraryEnv)
		}
	}
	return nil
}

// Rank returns the process's rank in MPI_COMM_WORLD.
func (w *World) Rank() int { return w.rank }

// Size returns the number of processes in MPI_COMM_WORLD.
func (w *World) Size() int { return w.size }

// Library returns the library's description of itself.
func (w *World) Library() string { return w.lib.version }

// File returns the name by which the library was found.
func (w *World) File() string { return w.lib.name }

// Level returns the thread level of the library, as the standard names it.
func (w *World) Level() string { return levels[min(int(w.level), len(levels)-1)] }

// leaving bounds how long Close waits for the other processes, one of which may
// die meanwhile, and how long MPI_Finalize may take then.
const leaving = 3 * time.Second

// Close leaves MPI_COMM_WORLD. All links must have ended, or be ending; Close waits up to
// patience for each. A process that has seen a death does not finalize the library, because
// MPI_Finalize might wait for the dead process. Before they call MPI_Finalize, the processes wait
// for each other: MPI_Finalize occupies a core while it waits, and the last processes may need
// this core.
func (w *World) Close() error {
	w.mu.Lock()
	if w.finished {
		w.mu.Unlock()
		return nil
	}
	w.finished = true
	w.mu.Unlock()
	open := w.open()
	for end := time.Now().Add(2 * patience); open > 0 && time.Now().Before(end); open = w.open() {
		time.Sleep(overdue)
	}
	close(w.stop)
	var err error
	select {
	case err = <-w.ended:
	case <-time.After(2 * leaving):
		err = fmt.Errorf("leave MPI: MPI_Finalize has not returned in %v", leaving)
	}
	if open > 0 {
		err = errors.Join(err, fmt.Errorf("leave MPI: %d links are still open", open))
	}
	return err
}

// Mourn records that a process has died.
func (w *World) Mourn() { w.deaths.Add(1) }

// open counts the links that have not ended.
func (w *World) open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.links)
}

func (w *World) finalize() error {
	w.mu.Lock()
	settled := len(w.links) == 0 && len(w.kept) == 0 && w.deaths.Load() == 0
	w.mu.Unlock()
	if !settled {
		return nil
	}
	if err := w.gather(); err != nil {
		return fmt.Errorf("leave MPI: %w", err)
	}
	w.calling.Lock()
	defer w.calling.Unlock()
	rc, _, _ := purego.SyscallN(w.lib.entries[finalize])
	return code(rc).err(finalize)
}

// gather waits until all processes leave.
func (w *World) gather() error {
	w.calling.Lock()
	rc, _, _ := purego.SyscallN(w.lib.entries[startBarrier], w.lib.world, uintptr(unsafe.Pointer(&w.leave)))
	w.calling.Unlock()
	if err := code(rc).err(startBarrier); err != nil {
		return err
	}
	for end := time.Now().Add(leaving); ; sleep(overdue) {
		if ok, err := w.complete(&w.leave); ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("not all processes have come in %v", leaving)
		}
	}
}

// run polls without a pause for a while after something moved or a link lost its attention,
// because nothing else wakes a goroutine that sleeps for an answer. Then it polls more and
// more rarely. While other goroutines attend to all links, run leaves the core and the
// library to them.
const (
	keen     = 200 * time.Microsecond
	shortest = 20 * time.Microsecond
	longest  = 200 * time.Microsecond
	underway = 50 * time.Millisecond // a large frame that has not moved for this long counts as stalled
	overdue  = time.Millisecond      // age at which run no longer relies on a promise of attention
)

// run moves the links to which no goroutine attends.
func (w *World) run() {
	nap := shortest
	moved, all := time.Now(), time.Now()
	for {
		select {
		case <-w.stop:
			return
		default:
		}
		w.mu.Lock()
		links := w.links
		w.mu.Unlock()
		now := time.Now()
		passed := now.Sub(all)
		everyone := passed >= overdue
		if everyone {
			all = now
		}
		any, hot, alone := false, false, len(links) == 0
		for _, l := range links {
			if everyone {
				l.probe(passed)
			}
			mine := l.attended.Load() == 0
			if alone = alone || mine; mine || everyone {
				any = l.Progress() || any
				hot = hot || l.streaming.Load() > 0
			}
		}
		switch still := now.Sub(moved); {
		case !alone:
			w.rest()
			moved = time.Now()
		case any:
			moved, nap = now, shortest
			runtime.Gosched()
		case still < keen || hot && still < underway:
			runtime.Gosched()
		default:
			sleep(nap)
			nap = min(2*nap, longest)
		}
	}
}

// sleep is time.Sleep for times below a millisecond. time.Sleep rounds these up
// to a millisecond in an otherwise idle process.
func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // a signal ends the sleep early
}

// rest returns when run is needed again: when a link has lost its attention, or
// when it is time to look at all links.
func (w *World) rest() {
	timer := time.NewTimer(overdue)
	defer timer.Stop()
	select {
	case <-w.bell:
	case <-timer.C:
	case <-w.stop:
	}
}

// ring ends a rest of run.
func (w *World) ring() {
	select {
	case w.bell <- struct{}{}:
	default: // run is about to continue
	}
}

// add adds a link, and wakes run to poll it.
func (w *World) add(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setLinks(append(slices.Clip(w.links), l))
	w.ring()
}

// remove removes a link that has ended. If the link is not settled, remove keeps its
// memory, since the library may still use it.
func (w *World) remove(l *link, settled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setLinks(slices.DeleteFunc(slices.Clone(w.links), func(o *link) bool { return o == l }))
	if !settled {
		w.kept = append(w.kept, l)
	}
}

// allLooks is how often one round over all links checks for packets. A check takes 20 ns,
// and returning from C and calling again takes several times as much.
const allLooks = 8

// setLinks replaces the links. The caller holds mu.
func (w *World) setLinks(links []*link) {
	w.links = links
	w.looks.Store(int32(max(1, allLooks/max(1, len(links)))))
}

// request is a handle that the library writes: an address (Open MPI) or a number (MPICH).
type request [8]byte

// send starts sending b. With matched the request completes only when the peer receives b.
// b and r must stay in place until r is complete.
func (w *World) send(b []byte, peer, tag int, matched bool, r *request) error {
	f := sendEager
	if matched {
		f = sendMatched
	}
	return w.transfer(f, b, peer, tag, r)
}

// receive starts receiving into b.
func (w *World) receive(b []byte, peer, tag int, r *request) error {
	return w.transfer(receive, b, peer, tag, r)
}

func (w *World) transfer(f function, b []byte, peer, tag int, r *request) error {
	w.calling.Lock()
	w.call.Args = [...]uintptr{
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		w.lib.byteType, uintptr(peer), uintptr(tag), w.lib.world, uintptr(unsafe.Pointer(r)),
	}
	times := 1
	if f != receive && !w.met[peer] {
		w.met[peer], times = true, 0
	}
	rc := w.do(f, times)
	w.calling.Unlock()
	return rc.err(f)
}

// do calls the library with the arguments in w.call. It makes a short call, which is
// repeated up to times times until a call has set w.call.Done. If times is 0 it makes one
// call that may take long. While large frames are under way no call is short, since any
// call may copy as much of them as is available. The first send to a rank is not short
// either, since it may connect.
func (w *World) do(f function, times int) code {
	w.call.Function, w.call.Done = w.lib.entries[f], 0
	if times > 0 && w.streaming.Load() == 0 {
		return code(w.call.ShortUntil(times))
	}
	return code(w.call.Long())
}

// complete reports whether a request is complete.
func (w *World) complete(r *request) (bool, error) { return w.completeSoon(r, 1) }

// completeSoon is like complete, but checks up to looks times. Another check takes less
// time than returning from C.
func (w *World) completeSoon(r *request, looks int) (bool, error) {
	w.calling.Lock()
	a := &w.call.Args
	a[0], a[1], a[2] = uintptr(unsafe.Pointer(r)), uintptr(unsafe.Pointer(&w.call.Done)), w.lib.ignoreStatus
	rc := w.do(test, looks)
	ok := w.call.Done != 0
	w.calling.Unlock()
	return ok, rc.err(test)
}

// completeAll is complete for n requests that are consecutive in memory.
func (w *World) completeAll(r *request, n int) (bool, error) {
	w.calling.Lock()
	a := &w.call.Args
	a[0], a[1], a[2], a[3] = uintptr(n), uintptr(unsafe.Pointer(r)), uintptr(unsafe.Pointer(&w.call.Done)), w.lib.ignoreStatus
	rc := w.do(testAll, 1)
	ok := w.call.Done != 0
	w.calling.Unlock()
	return ok, rc.err(testAll)
}

// cancel requests the end of a receive. The receive completes some time
// afterwards, with or without a message.
func (w *World) cancel(r *request) {
	w.calling.Lock()
	defer w.calling.Unlock()
	w.call.Args[0] = uintptr(unsafe.Pointer(r))
	w.do(cancel, 0)
}
