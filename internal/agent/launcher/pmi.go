package launcher

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// maxValue is the length in bytes below which every launcher stores a value.
const maxValue = 1024

// gatherPMI exchanges words through the launcher, by the text protocol PMI-1. If last is not
// set, the MPI library starts the protocol again later.
func gatherPMI(ctx context.Context, conn io.ReadWriteCloser, rank, size int, word []byte, last bool) ([][]byte, error) {
	type result struct {
		all [][]byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer conn.Close()
		all, err := (&pmi{conn: conn, in: bufio.NewReader(conn)}).gather(rank, size, word, last)
		done <- result{all, err}
	}()
	select {
	case r := <-done:
		return r.all, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("PMI: %w", ctx.Err())
	}
}

// pmi is a connection to a launcher.
type pmi struct {
	conn io.Writer
	in   *bufio.Reader
}

func (c *pmi) gather(rank, size int, word []byte, last bool) ([][]byte, error) {
	value := base64.RawURLEncoding.EncodeToString(word)
	if len(value) >= maxValue {
		return nil, fmt.Errorf("PMI: a word of %d bytes does not fit into a value", len(word))
	}
	if _, err := c.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init"); err != nil {
		return nil, err
	}
	space, err := c.ask("cmd=get_my_kvsname", "my_kvsname")
	if err != nil {
		return nil, err
	}
	name := space["kvsname"]
	if _, err := c.ask(fmt.Sprintf("cmd=put kvsname=%s key=intra-%d value=%s", name, rank, value), "put_result"); err != nil {
		return nil, err
	}
	if _, err := c.ask("cmd=barrier_in", "barrier_out"); err != nil {
		return nil, err
	}
	all := make([][]byte, size)
	for i := range all {
		got, err := c.ask(fmt.Sprintf("cmd=get kvsname=%s key=intra-%d", name, i), "get_result")
		if err != nil {
			return nil, err
		}
		if all[i], err = base64.RawURLEncoding.DecodeString(got["value"]); err != nil {
			return nil, fmt.Errorf("PMI: the word of process %d: %w", i, err)
		}
	}
	if last {
		_, err = c.ask("cmd=finalize", "finalize_ack")
	}
	return all, err
}

// ask sends a command and returns the fields of its answer.
func (c *pmi) ask(command, want string) (map[string]string, error) {
	if _, err := io.WriteString(c.conn, command+"\n"); err != nil {
		return nil, fmt.Errorf("PMI: %w", err)
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("PMI: the answer to %q: %w", command, err)
	}
	fields := make(map[string]string)
	for f := range strings.FieldsSeq(line) {
		if name, value, ok := strings.Cut(f, "="); ok {
			fields[name] = value
		}
	}
	if rc := fields["rc"]; fields["cmd"] != want || rc != "" && rc != "0" {
		return nil, fmt.Errorf("PMI: %q was answered with %q, want %s", command, strings.TrimSpace(line), want)
	}
	return fields, nil
}
