package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// binaries are the programs that the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

// The README is short enough to be scanned.
func TestReadmeIsShort(t *testing.T) {
	require.LessOrEqual(t, find(t, "README.md").lines, 160)
}

// The changelog has one line for each thing that a user notices.
func TestChangelogIsShort(t *testing.T) {
	require.Less(t, find(t, "CHANGELOG.md").lines, 60)
}

// Links lead to existing files and headings.
func TestLinks(t *testing.T) {
	all := documents(t)
	checked := 0
	for _, d := range all {
		for _, link := range d.links() {
			if strings.Contains(link, "://") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(link, "#")
			target := d.name
			if file != "" {
				target = filepath.Join(filepath.Dir(d.name), file)
				require.FileExists(t, existing(t, target), "%s links to %s", d.name, link)
			}
			if anchor == "" {
				continue
			}
			i := slices.IndexFunc(all, func(o document) bool { return o.name == target })
			require.GreaterOrEqual(t, i, 0, "%s links to a heading of %s", d.name, target)
			require.Contains(t, all[i].anchors(), anchor, "%s links to %s", d.name, link)
		}
	}
	require.Greater(t, checked, 10)
}

// existing returns the file at a path from root. For a folder it returns any file in the
// folder.
func existing(t *testing.T, path string) string {
	path = filepath.Join(root, path)
	if entries, err := os.ReadDir(path); err == nil {
		require.NotEmpty(t, entries, path)
		for _, e := range entries {
			if !e.IsDir() {
				return filepath.Join(path, e.Name())
			}
		}
	}
	return path
}

var pathLike = regexp.MustCompile(`^[a-z][\w.-]*(/[\w.-]+)+$`)

// A text that looks like a path of the repository must be one.
func TestPaths(t *testing.T) {
	checked := 0
	for _, d := range documents(t) {
		for _, code := range d.code() {
			top, _, _ := strings.Cut(code, "/")
			if _, err := os.Stat(filepath.Join(root, top)); err != nil || !pathLike.MatchString(code) {
				continue
			}
			checked++
			_, err := os.Stat(filepath.Join(root, code))
			require.NoError(t, err, "%s names %s", d.name, code)
		}
	}
	require.Greater(t, checked, 60)
}

var filesOfAWalk = regexp.MustCompile(`\b(\d+) files`)

// The walks through the code state how many files they touch.
func TestWalks(t *testing.T) {
	d := find(t, "docs/architecture.md")
	_, walks, _ := strings.Cut(strings.Join(d.prose, "\n"), "\n## Walks\n")
	walks, _, _ = strings.Cut(walks, "\n## ")
	all := strings.Split(walks, "\n### ")[1:]
	require.Len(t, all, 4)
	for _, walk := range all {
		files := make(map[string]bool)
		for _, m := range spans.FindAllStringSubmatch(walk, -1) {
			if strings.HasSuffix(m[1], ".go") {
				files[m[1]] = true
			}
		}
		name, _, _ := strings.Cut(walk, "\n")
		said := filesOfAWalk.FindStringSubmatch(walk)
		require.NotNil(t, said, name)
		require.Equal(t, strconv.Itoa(len(files)), said[1], name)
	}
}

var flagInHelp = regexp.MustCompile(`(?m)(?:^\s+|\[)-([a-zA-Z][\w-]*)`) // in a list, or in brackets after a command

// flags returns the flags in the help of a command.
func flags(t *testing.T, command string, args ...string) map[string]bool {
	t.Helper()
	out, _ := exec.Command(binaries.Plain(t, "cmd/"+command), append(args, "-h")...).CombinedOutput() // some commands exit with 2
	all := map[string]bool{"h": true}
	for _, m := range flagInHelp.FindAllStringSubmatch(string(out), -1) {
		all[m[1]] = true
	}
	require.Greater(t, len(all), 3, "%s", out)
	return all
}

var inQuotes = regexp.MustCompile(`'[^']*'`)

// flagsOf returns the flags in a command line of a tool. The flags end where the program
// or the packages begin.
func flagsOf(tool, line string) (all []string) {
	words := strings.Fields(inQuotes.ReplaceAllString(line, "QUOTED")) // without the flags of other tools
	for i, word := range words {
		if word != tool {
			continue
		}
		for _, w := range words[i+1:] {
			switch {
			case w == "PROGRAM" || w == "intrarun" || strings.HasPrefix(w, "."):
				return all
			case strings.HasPrefix(w, "-"):
				name, _, _ := strings.Cut(w[1:], "=")
				all = append(all, name)
			}
		}
	}
	return all
}

// Every flag exists, in commands and in the text.
func TestFlags(t *testing.T) {
	known := map[string]map[string]bool{"intrarun": flags(t, "intrarun"), "intragen": flags(t, "intragen"), "intravet": flags(t, "intravet"), "intravary": flags(t, "intravary")}
	anywhere := map[string]bool{"tags": true, "update": true, "json": true} // flags of the go command, of our tests, and of intrarun status
	for _, f := range known {
		for name := range f {
			anywhere[name] = true
		}
	}
	checked := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			for _, line := range b.commands() {
				for tool, f := range known {
					for _, name := range flagsOf(tool, line) {
						checked++
						require.Contains(t, f, name, "%s:%d: %s", d.name, b.line, line)
					}
				}
			}
		}
		for _, code := range d.code() {
			// Two dashes belong to the options of other tools.
			if name, ok := strings.CutPrefix(strings.Fields(code)[0], "-"); ok && name != "" && name[0] != '-' {
				checked++
				name, _, _ = strings.Cut(name, "=") // a value may follow the flag
				require.Contains(t, anywhere, name, "%s names %s", d.name, code)
			}
			for tool, f := range known {
				for _, name := range flagsOf(tool, code) {
					require.Contains(t, f, name, "%s names %s", d.name, code)
				}
			}
		}
	}
	require.Greater(t, checked, 60)
}

var (
	inMakefile = regexp.MustCompile(`(?m)^([a-z]+):`)
	inHelp     = regexp.MustCompile(`(?m)^  ([a-z]+) `)
)

// Targets of make and commands of intrabench exist.
func TestCommandsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	help, _ := exec.Command(binaries.Plain(t, "cmd/intrabench")).CombinedOutput() // exits with 2
	known := map[string][]string{"make": nil, "intrabench": nil}
	for _, m := range inMakefile.FindAllStringSubmatch(string(makefile), -1) {
		known["make"] = append(known["make"], m[1])
	}
	for _, m := range inHelp.FindAllStringSubmatch(string(help), -1) {
		known["intrabench"] = append(known["intrabench"], m[1])
	}
	checked := 0
	for _, d := range documents(t) {
		lines := d.code()
		for _, b := range d.blocks {
			lines = append(lines, b.commands()...)
		}
		for _, line := range lines {
			words := strings.Fields(line)
			if all, ok := known[words[0]]; ok && len(words) > 1 {
				checked++
				require.Contains(t, all, words[1], "%s: %s", d.name, line)
			}
		}
	}
	require.Greater(t, checked, 15)
}

// The program of the README fits on a screen.
func TestProgramOfTheReadmeIsShort(t *testing.T) {
	lines := 0
	for _, b := range find(t, "README.md").blocks {
		if b.language == "go" {
			require.True(t, strings.HasPrefix(b.note, "file: "), "README.md:%d: all code is of the program", b.line)
			lines += strings.Count(b.text, "\n")
		}
	}
	require.Greater(t, lines, 20)
	require.LessOrEqual(t, lines, 45)
}

// Files in blocks of the tutorial must equal those of testdata/tutorial.
func TestTutorialsCode(t *testing.T) {
	tutorial := make(map[string]bool)
	for _, b := range find(t, "docs/tutorial.md").blocks {
		name, ok := strings.CutPrefix(b.note, "file: ")
		require.Equal(t, b.language == "go", ok, "docs/tutorial.md:%d", b.line)
		if ok {
			want, err := os.ReadFile(filepath.Join(root, "testdata", "tutorial", name))
			require.NoError(t, err)
			require.Equal(t, string(want), b.text, "docs/tutorial.md:%d", b.line)
			tutorial[name] = true
		}
	}
	folder := filepath.Join(root, "testdata", "tutorial")
	require.NoError(t, filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		require.Contains(t, tutorial, name, "no block of the tutorial has it")
		return err
	}))
}

// times are the words for how often a line is printed.
var times = map[string]int{"once": 1, "twice": 2, "three times": 3, "five times": 5}

// Blocks have known languages, and the notes above them are known notes.
func TestNotes(t *testing.T) {
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			require.Contains(t, []string{"sh", "go", "c", "text", "yaml"}, b.language, "%s:%d", d.name, b.line)
			kind, value, _ := strings.Cut(b.note, ": ")
			switch kind {
			case "":
			case "not run", "setup", "needs":
				require.NotEmpty(t, value, "%s:%d", d.name, b.line)
				require.Equal(t, "sh", b.language, "%s:%d", d.name, b.line)
			case "in the repository":
				require.Equal(t, "sh", b.language, "%s:%d", d.name, b.line)
			case "file":
				require.NotEmpty(t, value, "%s:%d", d.name, b.line)
			case "printed":
				require.Equal(t, "text", b.language, "%s:%d", d.name, b.line)
				require.Contains(t, times, value, "%s:%d", d.name, b.line)
			default:
				t.Errorf("%s:%d: unknown note %q", d.name, b.line, b.note)
			}
		}
	}
}
