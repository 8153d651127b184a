package figures

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// SectionTime is the time that the sections of one type of task take in a configuration that
// decides, relative to plain replication.
type SectionTime struct {
	Task   string        `json:"task"`
	Config string        `json:"config"`
	Ratio  spread.Spread `json:"ratio"` // spread of the quotients of each round
}

// slower is the ratio from which a type of section counts as slower with sharing.
const slower = 1.02

// sectionTimes returns a SectionTime for each type of task that takes a relevant part of the time,
// in each configuration that decides. The types with the longest sections come first.
func (m *Series) sectionTimes() (all []SectionTime) {
	tasks, some := m.sectionTasks()
	for _, task := range tasks[:some] {
		plain := m.tasks(task, Replicated.Name)
		for _, c := range m.Configs {
			own := m.tasks(task, c.Name)
			var ratio []float64
			for i, s := range own {
				if s.SectionSeconds > 0 && plain[i].SectionSeconds > 0 {
					ratio = append(ratio, s.SectionSeconds/plain[i].SectionSeconds)
				}
			}
			if c.decides() && len(ratio) > 0 {
				all = append(all, SectionTime{task, c.Name, spread.Of(ratio)})
			}
		}
	}
	return all
}

// sectionTasks returns the types of tasks, sorted by the time that a replicated run spends in their
// sections, the longest first. some is the number of types that take a relevant part of the time.
func (m *Series) sectionTasks() (tasks []string, some int) {
	types := make(map[string]float64)
	whole := 0.0
	for _, t := range m.Trials {
		if t.Config == Replicated.Name {
			whole += t.Samples[Total].Seconds
			for name, s := range t.Tasks {
				types[name] += s.SectionSeconds
			}
		}
	}
	tasks = slices.SortedFunc(maps.Keys(types), byMost(types))
	for some < len(tasks) && types[tasks[some]] >= leastShare*whole {
		some++
	}
	return tasks, some
}

// sectionTable writes the section times, one line for each type of task.
func (m *Series) sectionTable(w io.Writer) error {
	if len(m.Sections) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nTime in the sections of each type of task, by that of plain replication; ! where it is more than %.2f\n", slower)
	t := newColumns(w)
	for _, s := range m.Sections {
		mark := ""
		if s.Ratio.Median > slower {
			mark = "!"
		}
		fmt.Fprintf(t, "  %s\t%s\t%.3f\t%s\t%s\n", s.Task, s.Config, s.Ratio.Median, brackets(s.Ratio, 3), mark)
	}
	return t.Flush()
}
