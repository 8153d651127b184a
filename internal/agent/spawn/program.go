package spawn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/intrahpc/intra/internal/agent/watchdog"
)

// Program is an executable, possibly built for this run.
type Program struct {
	path string
	dir  string // removed by Remove; "" if there is none
}

// Path returns the path of the executable.
func (p *Program) Path() string { return p.path }

// Built reports whether the program was built for this run, so that other hosts may lack it.
func (p *Program) Built() bool { return p.dir != "" }

// Remove removes a program that was built for this run.
func (p *Program) Remove() {
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
}

// Interrupted reports that a signal arrived before the job began.
type Interrupted struct {
	Signal os.Signal
	While  string
}

// Error returns what the signal has interrupted.
func (i Interrupted) Error() string { return "interrupted while " + i.While }

// Resolve finds the executable of the job. That is a regular executable file, or one in PATH
// if the name has no slash. Otherwise it is the Go package of that name, which Resolve builds
// with the tags. A signal interrupts it.
func Resolve(ctx context.Context, name string, tags []string, signals <-chan os.Signal, g *watchdog.Watchdog) (*Program, error) {
	if Executable(name) {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", name, err)
		}
		return &Program{path: path}, nil
	}
	if !strings.ContainsRune(name, '/') {
		if path, err := exec.LookPath(name); err == nil {
			return &Program{path: path}, nil
		}
	}
	return build(ctx, name, tags, signals, g)
}

// Executable reports whether a path is a regular file that can be run.
func Executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

func build(ctx context.Context, name string, tags []string, signals <-chan os.Signal, g *watchdog.Watchdog) (*Program, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("%s is not an executable file, and building it as a Go package needs the go command: %w", name, err)
	}
	dir, err := os.MkdirTemp("", "intrarun-")
	if err != nil {
		return nil, fmt.Errorf("make room for the program: %w", err)
	}
	g.Folder(dir)
	p := &Program{dir: dir}
	if err := p.build(ctx, name, tags, signals); err != nil {
		p.Remove()
		return nil, err
	}
	return p, nil
}

func (p *Program) build(ctx context.Context, name string, tags []string, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case s := <-signals:
			cancel(Interrupted{s, "building the program"})
		case <-stop:
		}
	}()
	goflags, err := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
	if err != nil {
		return buildError(ctx, name, nil, err)
	}
	merged, err := mergeTags(string(goflags), tags)
	if err != nil {
		return err
	}
	// If -o is a folder, go build writes executables only, and no archives.
	cmd := exec.CommandContext(ctx, "go", "build", "-tags="+merged, "-o", p.dir+"/", "--", name)
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
		return fmt.Errorf("%s matches %d programs: name one", name, len(made))
	}
	p.path = filepath.Join(p.dir, made[0].Name())
	return nil
}

func buildError(ctx context.Context, name string, out []byte, err error) error {
	if i, ok := context.Cause(ctx).(Interrupted); ok {
		return i
	}
	if ctx.Err() != nil {
		return Interrupted{syscall.SIGTERM, "building the program"}
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(out) == 0 {
		out = exit.Stderr
	}
	err = fmt.Errorf("%s is neither an executable file nor a Go package that can be built: %w\n%s", name, err, bytes.TrimSpace(out))
	if source := notGenerated(ctx, name); source != "" {
		err = fmt.Errorf("%w\n%s holds //intra: directives, and nothing was generated from it: run go generate", err, source)
	}
	return err
}

// directive matches the directives for which intragen generates a file.
var directive = regexp.MustCompile(`(?m)^[ \t]*//intra:(task|section|state)\b`)

// notGenerated returns a file of a package with directives for which no file was generated. It
// returns "" if there is none.
func notGenerated(ctx context.Context, name string) string {
	dirs, err := exec.CommandContext(ctx, "go", "list", "-e", "-f", "{{.Dir}}", "--", name).Output()
	if err != nil {
		return ""
	}
	for dir := range strings.FieldsFuncSeq(string(dirs), func(r rune) bool { return r == '\n' }) {
		sources, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, source := range sources {
			// A generated file contains the directives of its source.
			made := strings.TrimSuffix(source, ".go") + "_intra.go"
			if strings.HasSuffix(source, "_test.go") || strings.HasSuffix(source, "_intra.go") || slices.Contains(sources, made) {
				continue
			}
			if text, err := os.ReadFile(source); err == nil && directive.Match(text) {
				return source
			}
		}
	}
	return ""
}

// mergeTags joins the build tags of goflags with more. A -tags on the command line would
// replace the one in GOFLAGS.
func mergeTags(goflags string, more []string) (string, error) {
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
	for _, tag := range more {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return strings.Join(tags, ","), nil
}
