//go:build system

package slurm

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nodes is the number of nodes of a cluster.
const nodes = 4

// cluster is Slurm with all its daemons on this machine.
type cluster struct {
	dir     string
	conf    string // the configuration, for SLURM_CONF
	daemons [nodes]*exec.Cmd
}

// configuration is that of Debian's Slurm 22.05, with everything in one folder and
// several slurmd on a host.
const configuration = `ClusterName=test
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[3]s/munge.socket
CredType=cred/munge
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmdPidFile=%[3]s/slurmd.%%n.pid
SlurmdSpoolDir=%[3]s/spool/%%n
StateSaveLocation=%[3]s/spool/controller
SlurmctldLogFile=%[3]s/slurmctld.log
SlurmdLogFile=%[3]s/slurmd.%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdTimeout=30
NodeName=n[0-%[4]d] NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=[%[5]d-%[6]d] CPUs=4 RealMemory=1000 State=UNKNOWN
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
SlurmctldParameters=preempt_send_user_signal
PartitionName=test Nodes=n[0-%[4]d] Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES PreemptMode=OFF
PartitionName=preemptible Nodes=n[0-%[4]d] MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=n[0-%[4]d] MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
`

// need skips a test whose requirements this machine lacks. In CI the test fails instead.
func need(t *testing.T) {
	missing := ""
	for _, name := range []string{"munged", "slurmctld", "slurmd", "salloc", "sbatch", "scancel", "scontrol", "srun"} {
		if _, err := exec.LookPath(name); err != nil {
			missing += " " + name
		}
	}
	switch {
	case os.Getuid() != 0:
		t.Skip("needs root, to start the daemons of Slurm")
	case missing != "" && os.Getenv("CI") != "":
		t.Fatalf("not installed:%s", missing)
	case missing != "":
		t.Skipf("not installed:%s", missing)
	}
}

// newCluster starts Slurm. Slurm is ended with the test.
func newCluster(t *testing.T) *cluster {
	need(t)
	dir, err := os.MkdirTemp("", "slurm-") // a short path, because a socket is in it
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // otherwise munged does not trust the folder
	c := &cluster{dir: dir, conf: filepath.Join(dir, "slurm.conf")}
	key := make([]byte, 128)
	_, _ = rand.Read(key) // never fails
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key"), key, 0o400))
	host, err := os.Hostname()
	require.NoError(t, err)
	host, _, _ = strings.Cut(host, ".")
	first := ports(t, nodes+1)
	text := fmt.Sprintf(configuration, host, first, dir, nodes-1, first+1, first+nodes)
	require.NoError(t, os.WriteFile(c.conf, []byte(text), 0o644))
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.MkdirAll(in("spool/controller"), 0o755))
	c.daemon(t, "munged", "--foreground", "--force", "--socket="+in("munge.socket"), "--key-file="+in("key"),
		"--pid-file="+in("munged.pid"), "--log-file="+in("munged.log"), "--seed-file="+in("seed"))
	c.until(t, "no socket of munged", func() bool {
		_, err := os.Stat(in("munge.socket"))
		return err == nil
	})
	c.daemon(t, "slurmctld", "-D", "-f", c.conf)
	for i := range nodes {
		name := fmt.Sprint("n", i)
		require.NoError(t, os.Mkdir(in("spool/"+name), 0o755))
		c.daemons[i] = c.daemon(t, "slurmd", "-D", "-f", c.conf, "-N", name)
	}
	c.until(t, "not all nodes are idle", func() bool {
		out, _ := c.ask(t, "sinfo", "-h", "-o", "%D %t")
		return strings.TrimSpace(out) == fmt.Sprint(nodes, " idle")
	})
	return c
}

// env returns the environment that the commands of Slurm need.
func (c *cluster) env() []string { return []string{"SLURM_CONF=" + c.conf} }

// daemon starts a daemon in the foreground. It is ended with the test.
func (c *cluster) daemon(t *testing.T, name string, args ...string) *exec.Cmd {
	out, err := os.OpenFile(filepath.Join(c.dir, name+".out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer out.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended
		kill := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
	})
	return cmd
}

// ask runs a command of Slurm.
func (c *cluster) ask(t *testing.T, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), c.env()...)
	out, err := cmd.Output()
	return string(out), err
}

// until waits for a condition. If that takes too long, it prints the messages of the
// daemons.
func (c *cluster) until(t *testing.T, not string, so func() bool) {
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().Before(end) {
			continue
		}
		var said bytes.Buffer
		logs, _ := filepath.Glob(filepath.Join(c.dir, "*.[lo][ou][gt]"))
		for _, name := range logs {
			text, _ := os.ReadFile(name)
			fmt.Fprintf(&said, "--- %s\n%s\n", name, text)
		}
		require.FailNow(t, not, "%s", &said)
	}
}

// lose makes a node silent: it kills the slurmd of the node, and those of the given
// processes that run on it.
func (c *cluster) lose(t *testing.T, node int, of []int) {
	pids := []int{c.daemons[node].Process.Pid}
	var steps, rest []int
	for _, pid := range of {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // an error means that the process has ended
		if !bytes.Contains(env, fmt.Appendf(nil, "\x00SLURMD_NODENAME=n%d\x00", node)) {
			continue
		}
		rest = append(rest, pid)
		if parent := parentOf(pid); nameOf(parent) == "slurmstepd" {
			steps = append(steps, parent)
		}
	}
	require.NotEmpty(t, steps, "nothing runs on node %d", node)
	for _, pid := range append(append(pids, steps...), rest...) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // an error means that the process has ended
	}
}

func parentOf(pid int) (parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if at := bytes.LastIndexByte(text, ')'); at >= 0 {
		var state string
		_, _ = fmt.Sscan(string(text[at+1:]), &state, &parent) // 0: the process has ended
	}
	return parent
}

func nameOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(text))
}

// ports returns the first of n consecutive ports without listeners.
func ports(t *testing.T, n int) int {
search:
	for first := 20000 + os.Getpid()%8000; first < 32000; first += n {
		for p := first; p < first+n; p++ {
			l, err := net.Listen("tcp", fmt.Sprint(":", p))
			if err != nil {
				continue search
			}
			l.Close()
		}
		return first
	}
	t.Fatal("no ports are free")
	return 0
}
