package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/examples/internal/cli"
)

// parse reads a command line as an example does.
func parse(t *testing.T, args ...string) (tasks int, json bool, err error) {
	before := os.Args
	t.Cleanup(func() { os.Args = before })
	os.Args = append([]string{"example"}, args...)
	tasks = 16
	return tasks, json, cli.NewFlags(&tasks, "tasks", &json).Parse()
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"-tasks", "3", "-json"}, ""},
		{[]string{"-tasks", "0"}, "-tasks must be at least 1"},
		{[]string{"-json", "more"}, `unexpected argument "more"`},
	} {
		_, _, err := parse(t, tt.args...)
		if tt.want == "" {
			require.NoError(t, err, "%v", tt.args)
			continue
		}
		require.EqualError(t, err, tt.want)
	}
}

func TestProgram(t *testing.T) {
	wrong := errors.New("wrong flag")
	for _, parsed := range []error{nil, wrong} {
		ran := 0
		program := cli.Program(func() (int, error) { return 7, parsed }, func(p string, s int) error {
			ran = s
			return nil
		})
		require.ErrorIs(t, program("process"), parsed)
		require.Equal(t, parsed == nil, ran == 7)
	}
}

type result struct {
	Value cli.Number `json:"value"`
}

func (r *result) Print(w io.Writer) { fmt.Fprintf(w, "value %v\n", float64(r.Value)) }

func TestPrint(t *testing.T) {
	for _, tt := range []struct {
		value float64
		json  bool
		want  string
	}{
		{1.5, false, "value 1.5\n"},
		{1.5, true, `{"value":1.5}` + "\n"},
		{math.NaN(), true, `{"value":null}` + "\n"},
		{math.Inf(-1), true, `{"value":null}` + "\n"},
	} {
		var b bytes.Buffer
		require.NoError(t, cli.Print(&b, &result{cli.Number(tt.value)}, tt.json))
		require.Equal(t, tt.want, b.String())
	}
}
