package kubernetes

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// manifest returns the only manifest in docs/cluster.md.
func manifest(t *testing.T) *batch.Job {
	b, err := os.ReadFile("docs/cluster.md")
	require.NoError(t, err)
	parts := strings.Split(string(b), "```yaml\n")
	require.Len(t, parts, 2)
	text, _, ok := strings.Cut(parts[1], "```")
	require.True(t, ok)
	j := new(batch.Job)
	b, err = yaml.YAMLToJSONStrict([]byte(text))
	require.NoError(t, err)
	wrong, err := json.UnmarshalStrict(b, j)
	require.NoError(t, err)
	require.Empty(t, wrong)
	return j
}

// Every field of the manifest must be one of the API, with a value of its type.
func TestManifest(t *testing.T) {
	j := manifest(t)
	require.Equal(t, "batch/v1", j.APIVersion)
	require.Equal(t, "Job", j.Kind)
	require.Equal(t, batch.IndexedCompletion, *j.Spec.CompletionMode)
	require.Equal(t, *j.Spec.Completions, *j.Spec.Parallelism, "all pods are there at once")

	pod := j.Spec.Template.Spec
	require.Equal(t, core.RestartPolicyNever, pod.RestartPolicy)
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	env := make(map[string]string)
	for _, v := range c.Env {
		env[v.Name] = v.Value
	}
	require.Equal(t, j.Name+"-[0-3]:2", env["INTRA_HOSTS"])
	require.EqualValues(t, 4, *j.Spec.Completions, "a pod for each of them")
	require.Equal(t, j.Name+"-0."+pod.Subdomain+":7700", env["INTRA_HEAD"])
	require.Len(t, c.VolumeMounts, 1)
	require.Equal(t, pod.Volumes[0].Name, c.VolumeMounts[0].Name)
	require.Equal(t, j.Name, pod.Volumes[0].Secret.SecretName)
	require.Equal(t, c.VolumeMounts[0].MountPath+"/secret", env["INTRA_SECRET_FILE"])
}

// succeeds applies the rules of Kubernetes to the exit codes of the pods. -1 stands for a
// pod that was lost.
func succeeds(j *batch.Job, codes ...int) bool {
	for _, r := range j.Spec.SuccessPolicy.Rules {
		n := 0
		for i, code := range codes {
			if code == 0 && (r.SucceededIndexes == nil || *r.SucceededIndexes == string(rune('0'+i))) {
				n++
			}
		}
		want := len(codes)
		switch {
		case r.SucceededCount != nil:
			want = int(*r.SucceededCount)
		case r.SucceededIndexes != nil:
			want = 1
		}
		if n >= want {
			return true
		}
	}
	return false
}

// A job that has lost pods, even the first one, counts as successful if its exit codes
// show that. No pod is started a second time. TestIndexedJob of package hosts checks the
// exit codes of the pods.
func TestSuccessPolicy(t *testing.T) {
	j := manifest(t)
	require.Zero(t, *j.Spec.BackoffLimitPerIndex)
	require.Nil(t, j.Spec.MaxFailedIndexes, "which would end the job of those that live")
	require.Nil(t, j.Spec.BackoffLimit)
	for _, c := range []struct {
		what  string
		codes []int
		want  bool
	}{
		{"all is well", []int{0, 0, 0, 0}, true},
		{"a pod was lost", []int{0, 0, -1, 0}, true},
		{"the first pod was lost", []int{-1, 0, 0, 0}, true},
		{"two were lost, one after the other", []int{-1, 0, 0, -1}, true},
		{"the program failed", []int{1, 1, 1, 1}, false},
		{"the program failed after the first pod was lost", []int{-1, 1, 1, 1}, false},
		{"a rank was lost with its pods", []int{3, 3, -1, -1}, false},
		{"all were lost", []int{-1, -1, -1, -1}, false},
	} {
		require.Equal(t, c.want, succeeds(j, c.codes...), c.what)
	}
}
