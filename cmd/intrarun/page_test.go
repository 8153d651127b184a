//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

func TestPageFlags(t *testing.T) {
	c, err := parse([]string{"-http", ":8080", "true"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8080", c.Page.Listen)
	require.Empty(t, c.Page.Token)
	c, err = parse([]string{"-http", "0.0.0.0:8080", "-http-token", "a-long-token", "true"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "a-long-token", c.Page.Token)
	c, err = parse([]string{"true"}, io.Discard)
	require.NoError(t, err)
	require.Nil(t, c.Page)
	for want, args := range map[string][]string{
		`-http "8080": want an address like :8080 or 0.0.0.0:8080`: {"-http", "8080"},
		`-http "": want an address`:                                {"-http", ""},
		`-http ":http": "http" is no port`:                         {"-http", ":http"},
		"-http-token: want at least 12":                            {"-http", ":0", "-http-token", "x"},
		"-http-token needs -http, because":                         {"-http-token", "a-long-token"},
	} {
		_, err := parse(append(args, "true"), io.Discard)
		require.ErrorContains(t, err, want)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	out, err := command("-http", taken.Addr().String(), "true").CombinedOutput()
	require.Equal(t, 2, err.(*exec.ExitError).ExitCode())
	require.Contains(t, string(out), "intrarun: serve the live page: listen tcp "+taken.Addr().String()+": bind: address already in use; -http :0 takes a free port")
}

// The token can come from a source that ps does not show: a file, or the environment. The
// program does not inherit that variable. The flag takes precedence over the environment.
func TestTokenOfThePage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(file, []byte("token-of-a-file\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), []byte("\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "short"), []byte("short"), 0o600))
	for _, c := range []struct{ environ, flag, want, err string }{
		{"", "a-long-token", "a-long-token", ""},
		{"", "@" + file, "token-of-a-file", ""},
		{"token-of-environ", "", "token-of-environ", ""},
		{"token-of-environ", "@" + file, "token-of-a-file", ""},
		{"short", "", "", tokenVariable + ": want at least 12 letters and digits"},
		{"", "@", "", "-http-token @: open : no such file"},
		{"", "@" + dir + "/none", "", "-http-token @" + dir + "/none: open"},
		{"", "@" + dir + "/empty", "", "-http-token @" + dir + "/empty: the file is empty"},
		{"", "@" + dir + "/short", "", "-http-token @" + dir + "/short: want at least 12 letters and digits"},
		{"", "short", "", "-http-token: want at least 12 letters and digits"},
	} {
		t.Setenv(tokenVariable, c.environ)
		args := []string{"-http", "0.0.0.0:8080"}
		if c.flag != "" {
			args = append(args, "-http-token", c.flag)
		}
		got, err := parse(append(args, "true"), io.Discard)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got.Page.Token)
	}
	cmd := command("-http", ":0", "-n", "1", "-r", "1", "sh", "-c", `echo "token: $`+tokenVariable+`"`)
	cmd.Env = append(cmd.Env, tokenVariable+"=token-of-environ")
	out, _ := cmd.CombinedOutput() // sh does not join the job, so intrarun fails
	require.Contains(t, string(out), "/?token=token-of-environ\n")
	require.Contains(t, string(out), "token: \n")
}

// Any user of the host may open connections to a page without a token. However many
// connections there are, a lost process is replaced, and the page answers.
func TestManyConnectionsToThePage(t *testing.T) {
	const descriptors, connections = 256, 400
	enough := filepath.Join(t.TempDir(), "enough")
	j := jobtest.Start(t, jobtest.Spec{Intrarun: os.Args[0], Flags: strings.Fields("-http :0 -v -r 2 -replace"), Program: append(program(asPatient), enough), Env: environ,
		Prefix: []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, descriptors), "sh"}})
	awaitText(t, j, "all have joined")
	url := regexp.MustCompile(`the live page is at (http://([^/]+)/)\n`).FindStringSubmatch(j.Stderr())
	require.NotNil(t, url)
	hostile(t, url[2], connections)
	var s runreport.Status
	// The page shows an event at its next update.
	bothRun := func() {
		require.Eventually(t, func() bool {
			r, err := http.Get(url[1] + "status.json")
			require.NoError(t, err)
			defer r.Body.Close()
			s = runreport.Status{}
			require.NoError(t, json.NewDecoder(r.Body).Decode(&s))
			return s.Alive == 2 && len(s.Processes) == 2
		}, time.Minute, 10*time.Millisecond)
	}
	bothRun()
	require.NoError(t, syscall.Kill(s.Processes[1].PID, syscall.SIGKILL))
	awaitText(t, j, "0.1 is replaced by another process")
	bothRun()
	require.NoError(t, os.WriteFile(enough, nil, 0o600))
	r := j.Wait(t)
	require.Equal(t, 0, r.Code, r.Stderr)
	require.NotContains(t, r.Stderr, "cannot be replaced")
}

// hostile opens connections, as another user if this one is root. Each connection sends one
// request and stays open.
func hostile(t *testing.T, address string, connections int) {
	cmd := exec.Command(os.Args[0])
	if os.Geteuid() == 0 {
		cmd.Path = copyForOthers(t)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	}
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", asHostile, address, connections))
	in, err := cmd.StdinPipe() // the process stays until this is closed
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // its exit code does not matter
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "connected\n", line)
}

// asHostile makes the test binary a process that opens connections.
const asHostile = "INTRARUN_TEST_HOSTILE"

// stranger is a user that no account has.
const stranger = 54321

// openMany runs as the process of asHostile: it opens connections and keeps them open.
func openMany(what string) {
	var address string
	var n int
	if _, err := fmt.Sscan(what, &address, &n); err != nil {
		panic(err)
	}
	for range n {
		c, err := net.Dial("tcp", address)
		if err != nil {
			panic(err)
		}
		defer c.Close()                                                                  // the connection stays open until the process ends
		_, _ = io.WriteString(c, "GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n") // the server may have closed it by now
	}
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// copyForOthers copies the test binary to a folder that other users can read.
func copyForOthers(t *testing.T) string {
	dir, err := os.MkdirTemp("", "others-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	self, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	name := filepath.Join(dir, "test")
	require.NoError(t, os.WriteFile(name, self, 0o755))
	return name
}

// The page of a job exists as long as the job. The status contains the address of the page.
func TestPageOfAJob(t *testing.T) {
	j, end := start(t, "-http :0 -n 1 -r 2", steps.Program("join", "0.1@kill:9", "forever")...)
	var url string
	require.Eventually(t, func() bool {
		if m := regexp.MustCompile(`intrarun: the live page is at (http://127\.0\.0\.1:\d+/)\n`).FindStringSubmatch(j.Stderr()); m != nil {
			url = m[1]
		}
		return url != ""
	}, jobtest.Deadline, 10*time.Millisecond)
	get := func(path string) string {
		r, err := http.Get(url + path)
		require.NoError(t, err)
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Equal(t, 200, r.StatusCode, "%s", b)
		return string(b)
	}
	require.Contains(t, get(""), "<title>")
	require.Eventually(t, func() bool { return strings.Contains(get("metrics"), `intra_deaths_total{cause="signal"} 1`) }, jobtest.Deadline, 50*time.Millisecond)
	var s runreport.Status
	require.NoError(t, json.Unmarshal([]byte(get("status.json")), &s))
	require.Equal(t, 1, s.Alive)
	require.Equal(t, url, s.Page)
	out, err := command("status", fmt.Sprint(j.PID())).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "\n  live page: "+url+"\n")

	events, err := http.Get(url + "events")
	require.NoError(t, err)
	defer events.Body.Close()
	require.NoError(t, syscall.Kill(j.PID(), syscall.SIGTERM))
	all, err := io.ReadAll(events.Body) // until the job ends
	require.NoError(t, err)
	require.Contains(t, string(all), "event: end\n")
	require.Contains(t, string(all), "0.1 died (signal)")
	require.Equal(t, 143, end().code)
}
