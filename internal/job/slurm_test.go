package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlurmHosts(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want []Host
		err  string
	}{
		{"no allocation", nil, nil, ""},
		{"tasks", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[08-10],x", "SLURM_TASKS_PER_NODE": "2(x3),1", "SLURM_JOB_CPUS_PER_NODE": "9(x4)"},
			[]Host{{Name: "n08", Slots: 2}, {Name: "n09", Slots: 2}, {Name: "n10", Slots: 2}, {Name: "x", Slots: 1}}, ""},
		{"processors", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_CPUS_PER_NODE": "64(x2)"},
			[]Host{{Name: "n1", Slots: 64}, {Name: "n2", Slots: 64}}, ""},
		{"only this host", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n1", "SLURM_TASKS_PER_NODE": "4", "SLURMD_NODENAME": "n1"}, nil, ""},
		{"only another host", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n1", "SLURM_TASKS_PER_NODE": "4"}, []Host{{Name: "n1", Slots: 4}}, ""},
		{"counts that do not fit", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "4"}, nil, "does not fit"},
		{"no counts", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n[1-2]"}, nil, "does not fit"},
		{"no names", map[string]string{"SLURM_JOB_ID": "1", "SLURM_TASKS_PER_NODE": "4"}, nil, "SLURM_JOB_NODELIST"},
		{"nonsense", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n1", "SLURM_TASKS_PER_NODE": "4(x99999999)"}, nil, "does not fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hosts, err := SlurmHosts(func(name string) string { return c.env[name] })
			if c.err != "" {
				require.ErrorIs(t, err, ErrHosts)
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, hosts)
		})
	}
}
