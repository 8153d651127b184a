package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// root is the folder of go.mod. It is determined before any test changes the working
// directory.
var root, rootErr = filepath.Abs("../../../..")

// document is a Markdown file.
type document struct {
	name   string // path from root
	lines  int
	blocks []block
	prose  []string // lines outside blocks
}

// block is a fenced block.
type block struct {
	line     int // line of the fence
	language string
	note     string // text of the comment above it, like "in the repository"
	text     string
}

// documents reads all documents.
func documents(t *testing.T) []document {
	t.Helper()
	require.NoError(t, rootErr)
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		names = append(names, filepath.Join(root, name))
	}
	var all []document
	for _, path := range names {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		all = append(all, parse(t, name, string(b)))
	}
	return all
}

// find returns one document.
func find(t *testing.T, name string) document {
	t.Helper()
	for _, d := range documents(t) {
		if d.name == name {
			return d
		}
	}
	t.Fatalf("there is no %s", name)
	return document{}
}

var comment = regexp.MustCompile(`^<!-- (.*) -->$`)

func parse(t *testing.T, name, text string) document {
	t.Helper()
	d := document{name: name}
	note, noted := "", 0
	var open *block
	for line := range strings.Lines(text) {
		d.lines++
		trimmed := strings.TrimSpace(line)
		switch fence, isFence := strings.CutPrefix(trimmed, "```"); {
		case open != nil && isFence:
			require.Empty(t, fence, "%s:%d: a block begins in a block", name, d.lines)
			d.blocks = append(d.blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		case isFence:
			open = &block{line: d.lines, language: fence}
			if note != "" {
				require.Equal(t, d.lines-1, noted, "%s:%d: a note that is above no block", name, noted)
			}
			open.note, note = note, ""
		default:
			if m := comment.FindStringSubmatch(trimmed); m != nil {
				note, noted = m[1], d.lines
				continue
			}
			d.prose = append(d.prose, strings.TrimSuffix(line, "\n"))
		}
	}
	require.Nil(t, open, "%s: a block does not end", name)
	require.Empty(t, note, "%s:%d: a note that is above no block", name, noted)
	return d
}

// commands returns the shell commands of a block.
func (b *block) commands() (all []string) {
	if b.language != "sh" {
		return nil
	}
	for line := range strings.Lines(b.text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)]+)\)`)
	spans      = regexp.MustCompile("`([^`]+)`")
)

// code returns the texts between backquotes.
func (d *document) code() (all []string) {
	for _, m := range spans.FindAllStringSubmatch(strings.Join(d.prose, "\n"), -1) {
		all = append(all, strings.Join(strings.Fields(m[1]), " "))
	}
	return all
}

// links returns the targets of all links. A link may continue on the next line.
func (d *document) links() (all []string) {
	for _, m := range linkTarget.FindAllStringSubmatch(strings.Join(d.prose, "\n"), -1) {
		all = append(all, m[1])
	}
	return all
}

// anchors returns the names of headings that links can have after a #.
func (d *document) anchors() map[string]bool {
	all := make(map[string]bool)
	for _, line := range d.prose {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		var slug strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
			switch {
			case r == ' ':
				slug.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				slug.WriteRune(r)
			}
		}
		all[slug.String()] = true
	}
	return all
}
