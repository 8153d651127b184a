package direct

import (
	"fmt"
	"strings"
)

// Describe lists, for a report, the missing tasks of the section and their owners.
func (b *ClaimTable) Describe() string {
	var lacks []string
	for t := range b.section.Tasks {
		switch w := b.word(b.me, t); {
		case w.state == computed || w.state == done:
		case w.state == free:
			lacks = append(lacks, fmt.Sprintf("%d is free", t))
		case w.owner == b.me:
			lacks = append(lacks, fmt.Sprintf("%d runs here", t))
		default:
			lacks = append(lacks, fmt.Sprintf("%d is claimed by replica %d", t, w.owner))
		}
	}
	if len(lacks) == 0 {
		return fmt.Sprintf("section %d, by stores, has all its tasks", b.section.Number)
	}
	return fmt.Sprintf("section %d, by stores, lacks %d of %d tasks: %s", b.section.Number, len(lacks), b.section.Tasks, strings.Join(lacks, ", "))
}
