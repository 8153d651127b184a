//go:build linux

package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// claim is a file of docs/results. It describes a section of the page.
type claim struct {
	file     string // name of the file, without .json
	Claim    string `json:"claim"`
	Also     string // a document that has its tables, too
	Parts    []part
	Commands []command // commands that measured the copied figures
	Machine  string    // the machine of these figures
}

// part is a paragraph, a table or a plot of a claim.
type part struct {
	Text  string
	Plot  string // file of a plot, which Text describes
	Table *table
}

type table struct {
	Columns []string
	Rows    []row
}

// row holds the figures of a table: either copied by an author, or as paths in a record.
type row struct {
	Cells []string
	// Record is a file that intrabench has written. A cell that begins with = is a path in its
	// result, like =rows[kernel=total,config=auto].efficiency or =results[0].median*1e6.
	Record string
	// Copied is the date, and the commit, at which the figures were copied into the documents.
	Copied string
}

type command struct{ What, Command string }

// site is the content of docs/results.
type site struct {
	claims  []*claim
	records map[string]*Record
	readme  table // its cells refer to cells of claims, like @FILE|ROW|COLUMN
	page    string
}

func readSite(folder string) (*site, error) {
	s := &site{records: make(map[string]*Record)}
	text, err := os.ReadFile(filepath.Join(folder, "page.md"))
	if err != nil {
		return nil, err
	}
	s.page = string(text)
	if err := readStrict(filepath.Join(folder, "readme.json"), &s.readme); err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(folder, "[0-9]*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		c := &claim{file: strings.TrimSuffix(filepath.Base(name), ".json")}
		if err := readStrict(name, c); err != nil {
			return nil, err
		}
		for _, p := range c.Parts {
			if p.Table == nil {
				continue
			}
			for i := range p.Table.Rows {
				if err := s.fill(folder, &p.Table.Rows[i]); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", name, p.Table.Rows[i].Cells[0], err)
				}
			}
		}
		s.claims = append(s.claims, c)
	}
	for i := range s.readme.Rows {
		for j, cell := range s.readme.Rows[i].Cells {
			if ref, ok := strings.CutPrefix(cell, "@"); ok {
				if s.readme.Rows[i].Cells[j], err = s.median(ref); err != nil {
					return nil, fmt.Errorf("readme.json: %s: %w", cell, err)
				}
			}
		}
	}
	return s, nil
}

func readStrict(name string, to any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// fill replaces the paths in a row by the figures that they name. It fails if the row does not
// name the source of its figures.
func (s *site) fill(folder string, r *row) error {
	if (r.Record == "") == (r.Copied == "") {
		return fmt.Errorf("want either a record or when the figures were copied")
	}
	if r.Record == "" {
		return nil
	}
	if s.records[r.Record] == nil {
		s.records[r.Record] = new(Record)
		if err := readStrict(filepath.Join(folder, r.Record), s.records[r.Record]); err != nil {
			return err
		}
	}
	for i, cell := range r.Cells[1:] {
		path, ok := strings.CutPrefix(cell, "=")
		if !ok {
			if cell != "" {
				return fmt.Errorf("%q is no path in %s", cell, r.Record)
			}
			continue
		}
		var err error
		if r.Cells[i+1], err = figure(s.records[r.Record].Result, path); err != nil {
			return fmt.Errorf("%s: %s: %w", r.Record, path, err)
		}
	}
	return nil
}

// replace replaces a table in a text, which has the same columns, and returns the text.
func (t *table) replace(text string) (string, error) {
	head, rest, ok := strings.Cut(text, "\n"+line(t.Columns))
	if ok {
		_, rest, ok = strings.Cut(rest, "\n\n")
	}
	if !ok {
		return "", fmt.Errorf("there is no table %q with an empty line after it", line(t.Columns))
	}
	return head + "\n" + t.write() + "\n" + rest, nil
}

// median returns the median in a cell of a table, without the quartiles.
func (s *site) median(ref string) (string, error) {
	place := strings.Split(ref, "|")
	if len(place) != 3 {
		return "", fmt.Errorf("want @FILE|ROW|COLUMN")
	}
	for _, c := range s.claims {
		for _, p := range c.Parts {
			if c.file != place[0] || p.Table == nil {
				continue
			}
			column := slices.Index(p.Table.Columns, place[2])
			for _, r := range p.Table.Rows {
				if column > 0 && r.Cells[0] == place[1] {
					value, _, _ := strings.Cut(r.Cells[column], " [")
					return value, nil
				}
			}
		}
	}
	return "", fmt.Errorf("no such cell")
}

// figure follows a path in JSON to a number or a spread, and formats the value.
func figure(in any, path string) (string, error) {
	path, factor, scaled := strings.Cut(path, "*")
	scale := 1.0
	var err error
	if scaled {
		if scale, err = strconv.ParseFloat(factor, 64); err != nil {
			return "", err
		}
	}
	at, err := follow(in, path)
	if err != nil {
		return "", err
	}
	switch v := at.(type) {
	case float64:
		return digits(v * scale), nil
	case map[string]any:
		median, okM := v["median"].(float64)
		q1, ok1 := v["q1"].(float64)
		q3, ok3 := v["q3"].(float64)
		if okM && ok1 && ok3 {
			return fmt.Sprintf("%s [%s %s]", digits(median*scale), digits(q1*scale), digits(q3*scale)), nil
		}
	}
	return "", fmt.Errorf("this is neither a number nor a spread")
}

var step = regexp.MustCompile(`^(\w+)(?:\[([^\]]*)\])?(?:\.|$)`)

func follow(at any, path string) (any, error) {
	for path != "" {
		m := step.FindStringSubmatch(path)
		if m == nil {
			return nil, fmt.Errorf("cannot read %q", path)
		}
		path = path[len(m[0]):]
		object, _ := at.(map[string]any)
		var ok bool
		if at, ok = object[m[1]]; !ok {
			return nil, fmt.Errorf("there is no %s", m[1])
		}
		if m[2] == "" {
			continue
		}
		list, _ := at.([]any)
		var found []any
		for i, v := range list {
			if selects(m[2], i, v) {
				found = append(found, v)
			}
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("%s[%s]: %d elements, want one", m[1], m[2], len(found))
		}
		at = found[0]
	}
	return at, nil
}

// selects reports whether an element of a list is selected: by its index, or by the values of
// fields. Several values of one field are joined by colons, like degrees=2:1.
func selects(which string, i int, v any) bool {
	if n, err := strconv.Atoi(which); err == nil {
		return i == n
	}
	object, _ := v.(map[string]any)
	for pair := range strings.SplitSeq(which, ",") {
		name, want, _ := strings.Cut(pair, "=")
		if have := text(object[name]); have != want {
			return false
		}
	}
	return true
}

func text(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		var all []string
		for _, x := range v {
			all = append(all, text(x))
		}
		return strings.Join(all, ":")
	}
	return fmt.Sprint(v)
}

func digits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
