package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each kill for want of memory explains one death, in every file in which the kernel may count
// kills.
func TestKillsForWantOfMemoryExplainDeaths(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		count string // the file's path, with the text before and after the number
		text  string
		where string
	}{
		{"version 2", map[string]string{"proc/self/cgroup": "0::/jobs/7\n", "sys/fs/cgroup/jobs/7/memory.max": "536870912\n", "proc/vmstat": "oom_kill 9\n"},
			"sys/fs/cgroup/jobs/7/memory.events", "low 0\noom 3\noom_kill %\noom_group_kill 0\n", "in cgroup /jobs/7, whose limit is 512 MB"},
		{"without a limit of its own", map[string]string{"proc/self/cgroup": "0::/jobs/7\n", "sys/fs/cgroup/jobs/7/memory.max": "max\n"},
			"sys/fs/cgroup/jobs/7/memory.events", "oom_kill %\n", "in cgroup /jobs/7"},
		{"version 1", map[string]string{"proc/self/cgroup": "11:cpu:/x\n4:memory:/jobs/7\n0::/\n", "sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes": "1073741824\n"},
			"sys/fs/cgroup/memory/jobs/7/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill %\n", "in cgroup /jobs/7, whose limit is 1024 MB"},
		{"the host", map[string]string{"proc/self/cgroup": "0::/\n"}, "proc/vmstat", "nr_free_pages 7\noom_kill %\n", "on this host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			write := func(name, text string) {
				path := filepath.Join(root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			}
			count := func(n string) {
				before, behind, _ := strings.Cut(c.text, "%")
				write(c.count, before+n+behind)
			}
			for name, text := range c.files {
				write(name, text)
			}
			count("3") // earlier kills, of other jobs
			m := watchMemory(root)
			require.Empty(t, m.killed(), "killed by the user")
			count("5")
			require.Equal(t, c.where, m.killed())
			require.Equal(t, c.where, m.killed())
			require.Empty(t, m.killed())

			count("6") // kills of other processes
			m.age()
			require.Equal(t, c.where, m.killed(), "the kill may be recent")
			count("7")
			m.age()
			m.age()
			require.Empty(t, m.killed(), "the kill was long ago")
		})
	}
	require.Empty(t, watchMemory(t.TempDir()).killed(), "no file counts kills")
}
