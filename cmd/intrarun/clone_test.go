//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
	"github.com/intrahpc/intra/internal/testkit/needs"
)

// tool writes a script that acts as a tool, and returns its name.
func tool(t *testing.T, script string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "tool")
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	return name
}

// TestClone lets a tool start one replica. If the tool ends early, the program under it counts
// as dead, too.
func TestClone(t *testing.T) {
	const after = `"$@" & while [ ! -s "$0.there" ]; do sleep 0.05; done; ` // waits until the program has joined
	for _, c := range []struct {
		name     string
		script   string
		flags    string
		steps    []string
		stderr   string // a part of the standard error
		failures []string
	}{
		{"runs the program", `exec "$@"`, "", nil, "", nil},
		{"is its parent", `"$@"; exit $?`, "", nil, "", nil},
		{"fails after the program", `"$@"; exit 5`, "", nil, "", nil},
		{"the program dies", `"$@"; exit $?`, "", []string{"0.1@kill:9"}, "killed by SIGKILL under its wrapper, under ", []string{"0.1 signal"}},
		{"the program dies, and the tool keeps running", `"$@"; sleep 1000`, "", []string{"0.1@kill:9"}, ", under ", []string{"0.1 exit"}},
		{"is killed", after + `kill -9 $$`, "", []string{"0.1@forever"}, "killed by SIGKILL, under ", []string{"0.1 signal"}},
		{"ends", after + `exit 5`, "", []string{"0.1@forever"}, "exit status 5, under ", []string{"0.1 exit"}},
		{"killed on request", `"$@"; exit $?`, "-kill 0.1@task:3", []string{"0.1@fired:task:3"}, "killed on request at task:3, under ", []string{"0.1 injected"}},
		{"killed elsewhere", `setsid "$@" & wait`, "-kill 0.1@task:3", []string{"0.1@fired:task:3"}, "killed on request at task:3, under ", []string{"0.1 injected"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			command := tool(t, c.script)
			words := append([]string{"join", "0.1@mark:" + command + ".there"}, c.steps...)
			r := runJob(t, "-r 2 "+c.flags+" -clone 0.1="+command, steps.Program(append(words, "out:x", "finish")...)...)
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, "x\n", r.stdout)
			require.Contains(t, r.stderr, c.stderr)
			require.ElementsMatch(t, c.failures, r.Deaths())
			for _, p := range r.report["processes"].([]any) {
				p := p.(map[string]any)
				if p["process"] == "0.1" {
					require.Equal(t, command, p["clone"])
				} else {
					require.NotContains(t, p, "clone")
				}
			}
		})
	}
	t.Run("starts nothing", func(t *testing.T) {
		r := runJob(t, "-r 2 -clone 0.1="+tool(t, "exit 5"), steps.Program("join", "finish")...)
		require.Equal(t, 1, r.code, r.stderr)
		require.Regexp(t, `0\.1.*exit status 5 before it had joined the job.*under /`, r.stderr)
	})
	t.Run("a rank alone", func(t *testing.T) {
		r := runJob(t, "-r 1 -clone 0.0=nice", steps.Program("join", "finish")...)
		require.Zero(t, r.code, r.stderr)
		require.Contains(t, r.stderr, "warning: -clone 0.0=nice: rank 0 has one replica, so all wait for it")
	})
}

// TestReplacedClone checks that the replacement of a clone has no tool.
func TestReplacedClone(t *testing.T) {
	r := storer(t, "-r 2 -replace -kill 0.1@task:4 -clone 0.1=nice", "state")
	require.Zero(t, r.code, r.stderr)
	var clones []any
	for _, p := range r.report["processes"].([]any) {
		clones = append(clones, p.(map[string]any)["clone"])
	}
	require.Len(t, r.Replacements, 1)
	require.ElementsMatch(t, []any{nil, "nice", nil}, clones)
}

// TestCloneUnderStrace checks that a replica under a tool that slows it down takes part, and
// that all replicas have the same result.
func TestCloneUnderStrace(t *testing.T) {
	needs.Tool(t, "strace", "strace")
	want := storer(t, "-r 1", "")
	require.Zero(t, want.code, want.stderr)
	trace := filepath.Join(t.TempDir(), "trace")
	_, wait := startFlags(t, nil, []string{"-r", "2", "-clone", "0.1=strace -f -o " + trace}, os.Args[0], asStorer, "")
	r := wait()
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, want.stdout, r.stdout)
	require.Empty(t, r.Deaths())
	b, err := os.ReadFile(trace)
	require.NoError(t, err)
	require.Contains(t, string(b), "execve(")
	require.Contains(t, string(b), "+++ exited with 0 +++")
}

// goAhead is a program in which each replica of rank 1 receives nothing before a replica of
// rank 0 has sent all messages and made a file.
func goAhead(p *intra.Process, file string) error {
	const messages, size = 200, 64 << 10
	c, buf := p.World(), make([]byte, size)
	if p.Rank() == 0 {
		for range messages {
			if err := comm.Send(c, buf, 1, 0); err != nil {
				return err
			}
		}
		return os.WriteFile(file, nil, 0o600)
	}
	for p.Replica() == 1 {
		if _, err := os.Stat(file); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for range messages {
		if _, err := comm.Recv(c, buf, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// TestMessagesDoNotWaitForAClone checks that messages to the other replicas of a rank do not wait for its
// clone.
func TestMessagesDoNotWaitForAClone(t *testing.T) {
	r := runJob(t, "-n 2 -r 2 -clone 1.1=nice", os.Args[0], asAhead, filepath.Join(t.TempDir(), "sent"))
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.Deaths())
}
