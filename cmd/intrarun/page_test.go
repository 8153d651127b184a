//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/jobtest"
	"github.com/intrahpc/intra/internal/jobtest/steps"
	"github.com/intrahpc/intra/internal/runreport"
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
		"-http-token is for -http: give both":                      {"-http-token", "a-long-token"},
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

// The page of a job is there as long as the job; the status tells where.
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
	all, err := io.ReadAll(events.Body) // up to the end
	require.NoError(t, err)
	require.Contains(t, string(all), "event: end\n")
	require.Contains(t, string(all), "0.1 died (signal)")
	require.Equal(t, 143, end().code)
}
