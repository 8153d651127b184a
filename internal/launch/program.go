package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/intrahpc/intra/internal/watchdog"
)

// terminate is how the end of a context counts.
const terminate = syscall.SIGTERM

// program is an executable, perhaps one that was built for this run.
type program struct {
	path string
	dir  string // to be removed; "" if there is none
}

func (p *program) remove() {
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
}

// interrupted: a signal came before the job began.
type interrupted struct {
	signal os.Signal
	while  string
}

func (i interrupted) Error() string { return "interrupted while " + i.while }

// resolve finds the executable of the job: a regular executable file, without
// a slash in its name also one in PATH, or else the Go package of that name,
// which it builds with the intra tag.
func resolve(ctx context.Context, c Config, g *watchdog.Watchdog) (*program, error) {
	name := c.Program[0]
	if executable(name) {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", name, err)
		}
		return &program{path: path}, nil
	}
	if !strings.ContainsRune(name, '/') {
		if path, err := exec.LookPath(name); err == nil {
			return &program{path: path}, nil
		}
	}
	return build(ctx, c, g, name)
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

func build(ctx context.Context, c Config, g *watchdog.Watchdog, name string) (*program, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("%s is no executable file, and to build a Go package the go command is needed: %w", name, err)
	}
	dir, err := os.MkdirTemp("", "intrarun-")
	if err != nil {
		return nil, fmt.Errorf("make room for the program: %w", err)
	}
	g.Folder(dir)
	p := &program{dir: dir}
	if err := p.build(ctx, c, name); err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *program) build(ctx context.Context, c Config, name string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case s := <-c.Signals:
			cancel(interrupted{s, "building the program"})
		case <-stop:
		}
	}()
	goflags, err := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
	if err != nil {
		return buildError(ctx, name, nil, err)
	}
	tags, err := mergeTags(string(goflags))
	if err != nil {
		return err
	}
	// With a folder to write to, go build writes executables only.
	cmd := exec.CommandContext(ctx, "go", "build", "-tags="+tags, "-o", p.dir+"/", "--", name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return buildError(ctx, name, out, err)
	}
	made, err := os.ReadDir(p.dir)
	switch {
	case err != nil:
		return fmt.Errorf("find what was built: %w", err)
	case len(made) == 0:
		return fmt.Errorf("%s is not a main package: intrarun runs programs", name)
	case len(made) > 1:
		return fmt.Errorf("%s stands for %d programs: name one", name, len(made))
	}
	p.path = filepath.Join(p.dir, made[0].Name())
	return nil
}

func buildError(ctx context.Context, name string, out []byte, err error) error {
	if i, ok := context.Cause(ctx).(interrupted); ok {
		return i
	}
	if ctx.Err() != nil {
		return interrupted{terminate, "building the program"}
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(out) == 0 {
		out = exit.Stderr
	}
	return fmt.Errorf("%s is neither an executable file nor a Go package that can be built: %w\n%s", name, err, bytes.TrimSpace(out))
}

// mergeTags returns the build tags of goflags together with intra: a -tags on
// the command line replaces the one in GOFLAGS.
func mergeTags(goflags string) (string, error) {
	flags, err := splitQuoted(goflags)
	if err != nil {
		return "", fmt.Errorf("GOFLAGS: %w", err)
	}
	tags := []string{}
	for _, f := range flags {
		f = strings.TrimPrefix(f, "-")
		if value, ok := strings.CutPrefix(strings.TrimPrefix(f, "-"), "tags="); ok {
			tags = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	if !slices.Contains(tags, "intra") {
		tags = append(tags, "intra")
	}
	return strings.Join(tags, ","), nil
}

// splitQuoted splits at spaces; a word may stand in quotes as a whole, as the
// go command reads GOFLAGS.
func splitQuoted(s string) ([]string, error) {
	var words []string
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		if s == "" {
			return words, nil
		}
		word, rest := "", ""
		if q := s[0]; q == '"' || q == '\'' {
			end := strings.IndexByte(s[1:], q)
			if end < 0 {
				return nil, fmt.Errorf("a %c without its end in %q", q, s)
			}
			word, rest = s[1:1+end], s[2+end:]
		} else if end := strings.IndexAny(s, " \t\r\n"); end >= 0 {
			word, rest = s[:end], s[end:]
		} else {
			word = s
		}
		words, s = append(words, word), rest
	}
}
