//go:build system

package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// mine is the note above the commands in docs/cluster.md that this test runs.
const mine = "internal/testkit/systemtest/hosts runs"

// tick is how often a condition is checked.
const tick = 10 * time.Millisecond

var fenced = regexp.MustCompile("(?s)<!-- ([^\n]*) -->\n```sh\n(.*?)```")

// The commands in docs/cluster.md about hosts work as written, on hosts h1, h2 and so on. A
// stand-in for ssh reaches them.
func TestCommandsOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/cluster.md")
	require.NoError(t, err)
	blocks := make(map[string]string) // by the first word after intrarun or of the line
	for _, m := range fenced.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[1], mine) {
			first, _, _ := strings.Cut(m[2], "\n")
			require.NotContains(t, blocks, first)
			blocks[first] = m[2]
		}
	}
	for first, test := range map[string]func(r *reader, block string){
		"intrarun drain JOB h2                  # all processes of host h2": func(r *reader, block string) {
			r.start("intrarun -hosts h1:3,h2:3,h3:3 -n 2 -r 2 -replace -backup 20 PROGRAM")
			r.job.await("the first backup is complete")
			for i, line := range r.lines(block) {
				r.ask(line)
				require.Eventually(r.t, func() bool { return strings.Count(r.job.Stderr(), "0.1 has moved from ") == i+1 }, jobtest.Deadline, tick)
			}
		},
		"intrarun grow JOB h3:2 h4:2": func(r *reader, block string) {
			r.start("intrarun -hosts h1:1,h2:1 -n 2 -r 1 -replace -backup 20 PROGRAM")
			r.job.await("the first backup is complete")
			r.ask(r.lines(block)[0])
			for _, host := range []string{"h3", "h4"} {
				r.job.await("host " + host + " has joined the job, with room for 2 processes")
			}
		},
		"INTRA_SECRET_FILE=/proc/1234/fd/5 intrarun join -slots 2 10.0.0.1:41423": func(r *reader, block string) {
			r.start("intrarun -hosts h1:1,h2:1 -n 2 -r 1 -replace PROGRAM")
			r.job.await("all have joined")
			words := joinBy.FindStringSubmatch(r.job.Stderr())
			require.NotNil(r.t, words, r.job.Stderr())
			line := strings.NewReplacer("INTRA_SECRET_FILE=/proc/1234/fd/5", words[1], "10.0.0.1:41423", strings.TrimPrefix(words[2], "join ")).Replace(r.lines(block)[0])
			guest := r.command(2, strings.Replace(line, " join ", " join -name h3 ", 1)) // all namespaces have the name of this machine
			require.NoError(r.t, guest.Start())
			r.job.await("host h3 has joined the job, with room for 2 processes")
			r.t.Cleanup(func() { require.NoError(r.t, guest.Wait()) })
		},
		"intrarun -hosts h1:2 -n 2 -r 1 -replace PROGRAM": func(r *reader, block string) {
			all := r.lines(block)
			r.start(all[0])
			r.job.await("all have joined")
			r.ask(all[1])
			r.job.await("host h2 has joined the job")
			require.Eventually(r.t, func() bool { return r.command(0, all[2]).Run() == nil }, jobtest.Deadline, tick) // succeeds once the rank has reached a safe point
			r.job.await("host h1 has no process any more")
		},
		"intrarun -hosts h1:2 -n 2 -r 1..2 PROGRAM": func(r *reader, block string) {
			all := r.lines(block)
			r.start(all[0])
			r.job.await("all have joined")
			r.ask(all[1])
			for _, p := range []string{"0.1", "1.1"} {
				r.job.await(p + " is added on h2")
			}
		},
		"intrarun -hosts h1:2,h2:2 -n 2 -r 2 PROGRAM": func(r *reader, block string) {
			r.start(r.lines(block)[0])
		},
	} {
		block, ok := blocks[first]
		require.True(t, ok, "no block begins with %q", first)
		delete(blocks, first)
		t.Run(first, func(t *testing.T) {
			r := newReader(t)
			test(r, block)
			end := r.job.wait()
			require.Zero(t, end.Code, end.Stderr)
			require.Equal(t, r.want, hash(t, end.Stdout))
			require.Empty(t, end.report.Rollbacks, end.Stderr)
			r.requireEmpty()
		})
	}
	require.Empty(t, blocks, "%s, it says", mine)
}

// reader follows the document.
type reader struct {
	*cluster
	bin  string // folder of the commands
	job  run
	want string // hash of the result
}

func newReader(t *testing.T) *reader {
	r := &reader{cluster: newCluster(t, 4), bin: t.TempDir()}
	script := "#!/bin/sh\nhost=$1\nshift\ncase $host in\n"
	for i, h := range r.Hosts {
		script += fmt.Sprintf("h%d) name=%s;;\n", i+1, h.Name)
	}
	script += "*) exit 255;;\nesac\nexec ip netns exec \"$name\" sh -c \"exec $*\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(r.bin, "ssh"), []byte(script), 0o755))
	require.NoError(t, os.Symlink(binaries.Intrarun(t), filepath.Join(r.bin, "intrarun")))
	alone := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: []string{"-n", "2"}, Program: r.program()})
	require.Zero(t, alone.Code, alone.Stderr)
	r.want = hash(t, alone.Stdout)
	return r
}

// program stands for PROGRAM.
func (r *reader) program() []string {
	return []string{binaries.Program(r.t, "examples/hpccg"), "-nx", "32", "-ny", "32", "-nz", "32", "-iters", "700", "-json"}
}

// lines returns the commands of a block.
func (r *reader) lines(block string) (all []string) {
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, "#")
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

// start starts a job by a line of the document, and -v.
func (r *reader) start(line string) {
	words := strings.Fields(line)
	require.Equal(r.t, "intrarun", words[0])
	require.Equal(r.t, "PROGRAM", words[len(words)-1])
	r.job = run{jobtest.Start(r.t, jobtest.Spec{
		Intrarun: binaries.Intrarun(r.t), Flags: append(words[1:len(words)-1], "-v"), Program: r.program(),
		Prefix:   []string{"ip", "netns", "exec", r.Hosts[0].Name, "env", r.path()},
		Outlived: true, Deadline: 2 * jobtest.Deadline,
	}), r.t}
}

func (r *reader) path() string {
	return "PATH=" + r.bin + string(os.PathListSeparator) + os.Getenv("PATH")
}

// command returns a command of the document that runs on a host.
func (r *reader) command(host int, line string) *exec.Cmd {
	line = strings.ReplaceAll(line, "JOB", strconv.Itoa(r.job.PID()))
	return exec.Command("ip", "netns", "exec", r.Hosts[host].Name, "env", r.path(), "sh", "-c", line)
}

// ask runs a command about the job on the host of intrarun.
func (r *reader) ask(line string) {
	out, err := r.command(0, line).CombinedOutput()
	require.NoError(r.t, err, "%s\n%s\n%s", line, out, r.job.Stderr())
}
