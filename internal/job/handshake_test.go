package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pair returns both ends of a control connection.
func pair(t *testing.T) (head, process *Conn) {
	head, f, err := Pair()
	require.NoError(t, err)
	process, err = NewConn(f)
	require.NoError(t, err)
	f.Close()
	t.Cleanup(func() { head.Close(); process.Close() })
	return head, process
}

func TestHandshakeProvesTheSecretOnBothSides(t *testing.T) {
	secret, other := NewSecret(), NewSecret()
	hello := &Hello{Tag: true, Build: "b"}

	t.Run("the same secret", func(t *testing.T) {
		head, process := pair(t)
		go func() {
			if _, err := Answer(head, &secret); err == nil {
				head.Write(&Message{Kind: KindSetup, Setup: &Setup{Self: Process{0, 1}, Degrees: []int{2}}})
			}
		}()
		setup, err := ask(process, &secret, hello)
		require.NoError(t, err)
		require.Equal(t, Process{0, 1}, setup.Self)
	})
	t.Run("the job ends during the handshake", func(t *testing.T) {
		for _, due := range []Kind{KindChallenge, KindSetup} {
			head, process := pair(t)
			go func() {
				if due == KindSetup {
					if _, err := Answer(head, &secret); err != nil {
						return
					}
				}
				head.Write(&Message{Kind: KindEnd, Code: 4, Text: "silent corruption"})
			}()
			_, err := ask(process, &secret, hello)
			require.ErrorIs(t, err, End{4, "silent corruption"}, due)
		}
	})
	t.Run("a head without the secret", func(t *testing.T) {
		head, process := pair(t)
		answered := make(chan error, 1)
		go func() { _, err := Answer(head, &other); answered <- err }()
		_, err := ask(process, &secret, hello)
		require.ErrorIs(t, err, ErrRefused)
		require.ErrorIs(t, err, ErrSecret)
		err = <-answered
		require.ErrorIs(t, err, ErrRefused)
		require.ErrorContains(t, err, ErrSecret.Error())
	})
	t.Run("a process without the secret", func(t *testing.T) {
		head, process := pair(t)
		answered := make(chan error, 1)
		go func() { _, err := Answer(head, &secret); answered <- err }()
		nonce := newNonce()
		require.NoError(t, process.Write(&Message{Kind: KindOpen, Version: Version, Nonce: nonce[:]}))
		m, err := expect(process, KindChallenge)
		require.NoError(t, err)
		// A process cannot use the head's own proof.
		require.NoError(t, process.Write(&Message{Kind: KindJoin, MAC: m.MAC, Hello: hello}))
		require.ErrorIs(t, <-answered, ErrSecret)
		_, err = expect(process, KindSetup)
		require.ErrorIs(t, err, ErrRefused)
	})
	t.Run("a hello that was changed in transit", func(t *testing.T) {
		head, process := pair(t)
		answered := make(chan error, 1)
		go func() { _, err := Answer(head, &secret); answered <- err }()
		nonce := newNonce()
		require.NoError(t, process.Write(&Message{Kind: KindOpen, Version: Version, Nonce: nonce[:]}))
		m, err := expect(process, KindChallenge)
		require.NoError(t, err)
		bound, err := hello.digest()
		require.NoError(t, err)
		mac := secret.mac("process", nonce, [secretSize]byte(m.Nonce), bound)
		require.NoError(t, process.Write(&Message{Kind: KindJoin, MAC: mac, Hello: &Hello{Tag: true, Build: "c"}}))
		require.ErrorIs(t, <-answered, ErrSecret)
	})
	t.Run("another version", func(t *testing.T) {
		head, process := pair(t)
		answered := make(chan error, 1)
		go func() { _, err := Answer(head, &secret); answered <- err }()
		nonce := newNonce()
		require.NoError(t, process.Write(&Message{Kind: KindOpen, Version: Version + 1, Nonce: nonce[:]}))
		require.ErrorContains(t, <-answered, fmt.Sprintf("protocol version %d in the program, %d in the launcher", Version+1, Version))
	})
}

func TestMismatch(t *testing.T) {
	var a Hello
	require.NoError(t, a.describe())
	require.NotEmpty(t, a.Build)
	require.NotContains(t, a.Build, "sha256:", "the test binary has a build ID")
	b := a
	b.PID++
	require.Empty(t, a.Mismatch(&b))
	for want, change := range map[string]func(*Hello){
		"byte orders":                 func(h *Hello) { h.ByteOrder = "big" },
		"builds of the program":       func(h *Hello) { h.Build = "x" },
		"results of the math library": func(h *Hello) { h.Math = "x" },
		"architectures":               func(h *Hello) { h.Arch = "x" },
		"uses of the intra build tag": func(h *Hello) { h.Tag = true },
	} {
		b := a
		change(&b)
		b.Host = "elsewhere"
		require.Contains(t, a.Mismatch(&b), want)
		require.Contains(t, a.Mismatch(&b), "on elsewhere")
	}
}

func TestBuildIDOfOtherFilesIsAHash(t *testing.T) {
	name := t.TempDir() + "/script"
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"), 0o755))
	id, err := buildID(name)
	require.NoError(t, err)
	require.Contains(t, id, "sha256:")
	_, err = buildID(name + "-missing")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestConnCarriesMessagesAndFiles(t *testing.T) {
	head, process := pair(t)
	texts := []string{"", "short", string(bytes.Repeat([]byte{'x'}, MaxMessage/2))}
	go func() {
		for _, text := range texts {
			head.Write(&Message{Kind: KindEnd, Text: text})
			r, w, err := os.Pipe()
			if err != nil {
				return
			}
			w.WriteString(text[:min(len(text), 10)])
			w.Close()
			head.Write(&Message{Kind: KindLink, Process: &Process{1, 2}}, r)
			r.Close()
		}
		head.Close()
	}()
	for _, text := range texts {
		m, files, err := process.Read()
		require.NoError(t, err)
		require.Empty(t, files)
		require.True(t, text == m.Text)
		m, files, err = process.Read()
		require.NoError(t, err)
		require.Equal(t, Process{1, 2}, *m.Process)
		require.Len(t, files, 1)
		b, err := io.ReadAll(files[0])
		require.NoError(t, err)
		require.Equal(t, text[:min(len(text), 10)], string(b))
		files[0].Close()
	}
	_, _, err := process.Read()
	require.Equal(t, io.EOF, err)

	t.Run("too long", func(t *testing.T) {
		head, _ := pair(t)
		require.ErrorIs(t, head.Write(&Message{Kind: KindEnd, Text: string(make([]byte, MaxMessage))}), ErrTooLarge)
	})
	t.Run("a false length", func(t *testing.T) {
		head, process := pair(t)
		head.c.Write([]byte{0xff, 0, 0, 0})
		_, _, err := process.Read()
		require.ErrorIs(t, err, ErrMessage)
	})
	t.Run("ended inside a message", func(t *testing.T) {
		head, process := pair(t)
		head.c.Write([]byte{0, 0, 0, 9, '{'})
		head.Close()
		_, _, err := process.Read()
		require.ErrorIs(t, err, ErrMessage)
		require.ErrorIs(t, err, io.EOF)
	})
	t.Run("the kernel names the sender", func(t *testing.T) {
		head, process := pair(t)
		require.NoError(t, process.Write(&Message{Kind: KindRelease}))
		_, _, err := head.Read()
		require.NoError(t, err)
		require.Equal(t, os.Getpid(), head.PID())
	})
	t.Run("a deadline", func(t *testing.T) {
		_, process := pair(t)
		process.SetDeadline(time.Now())
		_, _, err := process.Read()
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
}

func FuzzDecodeMessage(f *testing.F) {
	for _, m := range []Message{
		{Kind: KindOpen, Version: 1, Nonce: make([]byte, secretSize)},
		{Kind: KindJoin, MAC: make([]byte, secretSize), Hello: &Hello{Tag: true}},
		{Kind: KindSetup, Setup: &Setup{Degrees: []int{2, 1}, Kills: []Kill{{Point: KillTask, Count: 3}}}},
		{Kind: KindStart, Peers: []Peer{{Process: Process{1, 0}, Incarnation: 1, Address: "127.0.0.1:1"}}},
		{Kind: KindVerdict, Verdict: &Verdict{Epoch: 1, Process: Process{0, 1}, Cause: CauseSignal}},
		{Kind: KindStats, Stats: &Stats{TaskTypes: map[string]TaskStats{"f": {Run: 1}}}},
	} {
		b, err := json.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte(`{"kind":"link"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeMessage(b)
		if err != nil {
			require.ErrorIs(t, err, ErrMessage)
			return
		}
		again, err := m.Encode()
		if err != nil {
			return
		}
		back, err := DecodeMessage(again)
		require.NoError(t, err)
		require.Equal(t, m.Kind, back.Kind)
		switch m.Kind { // readers use these fields without a check
		case KindOpen:
			_ = [secretSize]byte(m.Nonce)
		case KindChallenge, KindJoin:
			_ = [secretSize]byte(m.MAC)
		case KindSetup:
			require.Greater(t, m.Setup.Degrees[m.Setup.Self.Rank], m.Setup.Self.Replica)
		case KindLink:
			require.Equal(t, 1, m.Files)
		case KindConnect:
			require.Len(t, m.Peers, 1)
			require.Equal(t, m.Peers[0].Link != LinkTCP, m.Files == 1)
		}
	})
}
