package launch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/job"
)

// The tree of agents follows from -hosts and -rsh.
func TestTreeOfAJob(t *testing.T) {
	var hosts []job.Host
	for _, name := range []string{"h0", "h1", "h2", "localhost"} {
		hosts = append(hosts, job.Host{Name: name})
	}
	for _, c := range []struct {
		name   string
		config Config
		want   spawn.Tree
	}{
		{"this host first", Config{RemoteShell: "ssh {host}", Fanout: 2}, spawn.Tree{Hosts: []string{"localhost", "h0", "h1", "h2"}, Fanout: 2}},
		{"the default fanout", Config{RemoteShell: "ssh {host}"}, spawn.Tree{Hosts: []string{"localhost", "h0", "h1", "h2"}, Fanout: spawn.DefaultFanout}},
		{"srun starts all", Config{RemoteShell: "/opt/bin/srun -w {host}", Fanout: 1}, spawn.Tree{Hosts: []string{"localhost", "h0", "h1", "h2"}, Fanout: 4}},
		{"the other hosts start by themselves", Config{Indexed: &spawn.Indexed{Hosts: hosts}, Fanout: 1}, spawn.Tree{Hosts: []string{"h0"}, Fanout: 1}},
	} {
		c.config.Placement = &job.Placement{Hosts: hosts}
		require.Equal(t, &c.want, c.config.tree(), c.name)
	}
}

func TestCheckFanout(t *testing.T) {
	for text, c := range map[string]Config{
		"":                    {Fanout: 1, RemoteShell: "ssh {host}"},
		"want at least 1":     {Fanout: 0, RemoteShell: "ssh {host}"},
		"start by themselves": {Fanout: 2, Indexed: &spawn.Indexed{}},
		"srun starts all":     {Fanout: 2, RemoteShell: job.SlurmShell},
	} {
		err := c.CheckFanout()
		if text == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, text)
	}
}
