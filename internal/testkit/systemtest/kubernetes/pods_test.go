//go:build linux

package kubernetes

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batch "k8s.io/api/batch/v1"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

var binaries jobtest.Binaries

func TestMain(m *testing.M) {
	if err := os.Chdir(root); err != nil { // the programs of the main module are built there
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(binaries.Main(m))
}

// root is the root of the main module.
const root = "../../../.."

// pods are the pods of a Job, which are network namespaces.
type pods struct {
	*netns.Net
	all []*jobtest.Job
	dir string
}

// start starts the command of the manifest in all pods. The program ends once the folder has a
// file called end.
func start(t *testing.T, j *batch.Job) *pods {
	n := int(*j.Spec.Completions)
	p := &pods{Net: netns.Test(t, n), dir: t.TempDir()}
	secret := filepath.Join(p.dir, "secret")
	require.NoError(t, os.WriteFile(secret, bytes.Repeat([]byte("secret"), 8), 0o600))
	c := j.Spec.Template.Spec.Containers[0]
	require.Equal(t, "intrarun", c.Command[0])
	for i, h := range p.Hosts {
		var env []string
		for _, v := range c.Env { // there is no name service, and no volume
			value := strings.ReplaceAll(v.Value, j.Name+"-0."+j.Spec.Template.Spec.Subdomain+":", p.Hosts[0].Addr.String()+":")
			env = append(env, v.Name+"="+strings.ReplaceAll(value, c.VolumeMounts[0].MountPath+"/secret", secret))
		}
		p.all = append(p.all, jobtest.Start(t, jobtest.Spec{
			Intrarun: binaries.Intrarun(t),
			Flags:    append([]string{"-v"}, c.Command[1:len(c.Command)-1]...),
			Program:  []string{binaries.Program(t, "internal/testkit/systemtest/until"), filepath.Join(p.dir, "end")},
			Prefix:   []string{"ip", "netns", "exec", h.Name},
			Env:      append(env, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i)), Outlived: true,
		}))
	}
	p.await(t, "end.begun")
	return p
}

// await waits for a file.
func (p *pods) await(t *testing.T, name string) {
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(p.dir, name))
		return err == nil
	}, jobtest.Deadline, time.Millisecond, "%s", p.all[0].Stderr())
}

// remove simulates the removal of a pod: SIGTERM, and SIGKILL of all that is left there once
// intrarun has ended.
func (p *pods) remove(t *testing.T, pod int) {
	require.NoError(t, syscall.Kill(p.all[pod].PID(), syscall.SIGTERM))
	<-p.all[pod].Ended()
	require.NoError(t, p.Hosts[pod].Kill())
}

// Pods of the manifest are removed, the head's first: they leave within their grace period, and
// the Job succeeds.
func TestRemovedPods(t *testing.T) {
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Skip("hosts take root and iproute2")
	}
	j := manifest(t)
	grace := j.Spec.Template.Spec.TerminationGracePeriodSeconds
	require.NotNil(t, grace)
	for _, c := range []struct {
		pod  int
		code int
	}{{0, 6}, {3, 5}} {
		t.Run(fmt.Sprint("pod ", c.pod), func(t *testing.T) {
			p := start(t, j)
			p.remove(t, c.pod)
			require.NoError(t, os.WriteFile(filepath.Join(p.dir, "end"), nil, 0o600))
			codes, said := make([]int, len(p.all)), ""
			for i, one := range p.all {
				r := one.Wait(t)
				codes[i], said = r.Code, said+fmt.Sprintf("--- pod %d\n%s", i, r.Stderr)
			}
			want := make([]int, len(p.all))
			want[c.pod] = c.code
			require.Equal(t, want, codes, said)
			require.True(t, succeeds(j, codes...))
		})
	}
}
