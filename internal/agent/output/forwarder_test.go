package output

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// screen records the writes of a console.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// give is like write, but never waits for room.
func (f *forwarder) give(replica int, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.take(f.sources[replica], []byte(text))
}

func forwarderOn(kind Stream, degree int) (*forwarder, *screen, *Console) {
	s := new(screen)
	c := NewConsole(s, s)
	return newForwarder(0, kind, c, degree), s, c
}

func TestWholeLinesFromTheLowestLiveReplica(t *testing.T) {
	f, out, c := forwarderOn(Stdout, 3)
	defer c.Close()
	f.give(1, "a\nb\nc\nd")
	require.Empty(t, out.String(), "replica 0 speaks")
	f.give(0, "a\nb")
	require.Equal(t, "a\n", out.String(), "a part of a line waits for its end")
	f.died(0, nil, false)
	require.Equal(t, "a\nb\nc\n", out.String(), "the substitute continues where the dead replica was cut off")
	f.give(2, "a\n")
	f.give(1, "d\n")
	require.Equal(t, "a\nb\nc\ndd\n", out.String())
	f.died(1, nil, false)
	f.give(2, "b\nc\ndd\ne\nend")
	require.Equal(t, "a\nb\nc\ndd\ne\n", out.String())
	f.finished(2)
	require.Equal(t, "a\nb\nc\ndd\ne\nend", out.String())
}

// Each line is written once, whatever the sizes of the writes, and whichever replicas die.
func TestOutputOverAnySequenceOfDeaths(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		for i := range 40 {
			fmt.Fprintf(&text, "%d%s\n", i, strings.Repeat("x", rng.IntN(5)))
		}
		if rng.IntN(2) == 0 {
			text.WriteString("no end")
		}
		want := text.String()
		f, out, c := forwarderOn(Stdout, 4)
		at := make([]int, 4)
		alive := []int{0, 1, 2, 3}
		for len(alive) > 1 || at[alive[0]] < len(want) {
			i := rng.IntN(len(alive))
			r := alive[i]
			if len(alive) > 1 && rng.IntN(8) == 0 {
				f.died(r, nil, false)
				alive = append(alive[:i], alive[i+1:]...)
				continue
			}
			n := min(rng.IntN(20), len(want)-at[r])
			f.give(r, want[at[r]:at[r]+n])
			at[r] += n
		}
		f.finished(alive[0])
		require.Equal(t, want, out.String(), "seed %d", seed)
		c.Close()
	}
}

func TestVeryLongLines(t *testing.T) {
	f, out, c := forwarderOn(Stdout, 2)
	defer c.Close()
	piece := strings.Repeat("y", maxLine/2+1)
	line := piece + piece + piece + "\n"
	f.give(0, piece+piece)
	require.Len(t, out.String(), len(piece)*2, "too long to wait for its end")
	f.give(1, piece)
	f.died(0, nil, false)
	f.give(1, piece+piece+"\nnext\n")
	require.True(t, line+"next\n" == out.String())
}

func TestReplicaAheadHasToWait(t *testing.T) {
	f, out, c := forwarderOn(Stdout, 2)
	defer c.Close()
	var readers, writers [2]*os.File
	for i := range readers {
		var err error
		readers[i], writers[i], err = os.Pipe()
		require.NoError(t, err)
	}
	var pumps sync.WaitGroup
	for i, r := range readers {
		pumps.Go(func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := r.Read(buf)
				if err != nil {
					return
				}
				f.write(i, buf[:n])
			}
		})
	}
	text := bytes.Repeat([]byte("0123456789abcde\n"), 3*maxAhead/16)
	ahead := make(chan struct{})
	go func() {
		writers[1].Write(text)
		writers[1].Close()
		close(ahead)
	}()
	require.Eventually(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.sources[1].buf) > maxAhead
	}, 20*time.Second, time.Millisecond)
	select {
	case <-ahead:
		require.Fail(t, "nothing held replica 1 back")
	case <-time.After(50 * time.Millisecond):
	}
	writers[0].Write(text[:len(text)/2])
	writers[0].Close()
	pumps.Go(func() { f.died(0, nil, false) })
	<-ahead
	pumps.Wait()
	f.finished(1)
	require.True(t, string(text) == out.String())
}

func TestStandardErrorIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, out, c := forwarderOn(Stderr, 2)
		defer c.Close()
		f.give(0, "one\n")
		require.Empty(t, out.String())
		f.give(1, "one\n")
		require.Equal(t, "one\n", out.String(), "both replicas have written it")
		f.give(0, "two\n")
		time.Sleep(holdErrors)
		synctest.Wait()
		require.Equal(t, "one\ntwo\n", out.String(), "it has been held back long enough")
		f.give(0, "three\npanic: boom\n\ngoroutine 1:\n")
		time.Sleep(holdErrors)
		synctest.Wait()
		require.Equal(t, "one\ntwo\nthree\n", out.String(), "this looks like a crash")
		f.freeze(0)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "one\ntwo\nthree\n", out.String())
		words := f.died(0, []byte("panic: boom\n\ngoroutine 1:\n"), true)
		require.Equal(t, "panic: boom\n\ngoroutine 1:\n", string(words))
		f.give(1, "two\nthree\nfour\n")
		time.Sleep(holdErrors)
		synctest.Wait()
		require.Equal(t, "one\ntwo\nthree\nfour\n", out.String(), "the crash counts no lines")
	})
}

func TestLastWords(t *testing.T) {
	for _, c := range []struct {
		name         string
		itself       bool
		degree       int
		words, shown string
	}{
		{"last words of a replica that ended by itself", true, 2, "bad input\n", ""},
		{"the last words of a killed replica come from its peer", false, 2, "", ""},
		{"the last words of the last replica are output", true, 1, "", "bad input\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, out, cons := forwarderOn(Stderr, c.degree)
			defer cons.Close()
			f.give(0, "bad input\n")
			require.Equal(t, c.words, string(f.died(0, nil, c.itself)))
			require.Equal(t, c.shown, out.String())
		})
	}
}

func TestSplitCrash(t *testing.T) {
	for _, c := range []struct{ name, held, text, output, crash string }{
		{"none", "a\nb\n", "", "a\nb\n", ""},
		{"panic", "a\npanic: x\n\ngoroutine\n", "panic: x\n\ngoroutine\n", "a\n", "panic: x\n\ngoroutine\n"},
		{"its first lines are not copied", "a\nruntime: out\nfatal error: y\n\nstack\n", "\nstack\n", "a\n", "runtime: out\nfatal error: y\n\nstack\n"},
		{"mixed with output", "a\npanic: x\noutput\nstack\n", "panic: x\nstack\n", "a\n", "panic: x\noutput\nstack\n"},
		{"shown already", "", "panic: x\n", "", "panic: x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			output, crash := splitCrash([]byte(c.held), []byte(c.text))
			require.Equal(t, c.output, string(output))
			require.Equal(t, c.crash, string(crash))
		})
	}
}

func TestProgressLineGivesWay(t *testing.T) {
	s := new(screen)
	c := NewConsole(s, s)
	c.SetProgress("1 s", 80)
	c.SetProgress("1 s", 80)
	c.SetProgress("2 s is too long", 4)
	c.Emit(Piece{Text: []byte("x\n")})
	c.Notef("note")
	c.Close()
	require.Equal(t, "\r1 s\x1b[K\r2 s\x1b[K\r\x1b[Kx\nnote\n", s.String())
}

// A replica that replaces a dead one continues at the position of its donor, even in the
// middle of a line. It can become the speaker of the rank.
func TestReplacementContinuesTheOutput(t *testing.T) {
	f, out, c := forwarderOn(Stdout, 2)
	defer c.Close()
	f.give(0, "a\nb")
	f.died(0, nil, false)
	f.give(1, "a\nb\nc\nd1")
	at := f.stand(1)
	f.give(1, "d2\n")
	f.resume(0, at)
	require.Equal(t, "a\nb\nc\nd1d2\n", out.String())
	f.give(0, "d2\ne\nf")
	require.Equal(t, "a\nb\nc\nd1d2\ne\n", out.String(), "the lower one speaks")
	f.died(1, nil, false)
	f.give(0, "\n")
	require.Equal(t, "a\nb\nc\nd1d2\ne\nf\n", out.String())
}

// Replicas that roll back print lines again, and the user sees each line once. Lines that they
// print while they end their earlier run are dropped.
func TestOutputOfARollback(t *testing.T) {
	f, out, c := forwarderOn(Stdout, 2)
	defer c.Close()
	of := &Rank{streams: [2]*forwarder{f, newForwarder(0, Stderr, c, 2)}, holder: make(map[int]*Process)}
	both := []*Process{NewProcess(job.Process{Rank: 0, Replica: 0}, of), NewProcess(job.Process{Rank: 0, Replica: 1}, of)}
	for _, o := range both {
		o.Write(Stdout, []byte("a\nb\npart"))
	}
	at := both[0].Position()
	both[0].Write(Stdout, []byte(" of c\nd\n"))
	require.Equal(t, "a\nb\npart of c\nd\n", out.String())
	for _, o := range both {
		o.Mute()
		o.Write(Stdout, []byte("I was interrupted\n"))
		o.Resume(at, 0)
		o.Write(Stdout, []byte(" of c\nd\ne\n"))
	}
	require.Equal(t, "a\nb\npart of c\nd\ne\n", out.String())
}

// A process with a very long crash text can write all of it, and the processes that wait for
// its death continue.
func TestCrashWithALongText(t *testing.T) {
	for name, late := range map[string]bool{"known at once": false, "known when it waits": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out, err screen
				c := NewConsole(&out, &err)
				defer c.Close()
				f := newForwarder(0, Stderr, c, 2)
				f.write(1, []byte("before\n"))
				f.write(0, []byte("before\n"))
				if !late {
					f.freeze(0)
				}
				text := []byte("panic: " + strings.Repeat("x", 2*maxAhead))
				written := false
				go func() {
					for rest := text; len(rest) > 0; rest = rest[min(len(rest), 1<<20):] {
						f.write(0, rest[:min(len(rest), 1<<20)])
					}
					written = true
				}()
				synctest.Wait()
				if late {
					f.freeze(0)
					synctest.Wait()
				}
				require.True(t, written, "a replica that waits for room never dies")
				f.release(0)
				words := f.died(0, text[:MaxCrash], true)
				require.True(t, bytes.HasPrefix(text, words))
				require.Greater(t, len(words), MaxCrash)
				require.LessOrEqual(t, len(words), maxAhead+1<<20)
				f.write(1, []byte("after\n"))
				f.release(1)
				f.finished(1)
				require.Equal(t, "before\nafter\n", err.String())
			})
		})
	}
}
