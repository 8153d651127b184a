package launch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/runreport"
)

// decider is a head whose decisions are kept at once.
func decider(t *testing.T, degrees []int) (*head, *arbiter.State) {
	c := &Config{Degrees: degrees, Checkpoint: &Checkpoint{Dir: "state", Every: 7}, Restart: "before", Quiet: true,
		Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}
	h, s := newHead(c, job.NewSecret()), arbiter.NewState()
	t.Cleanup(h.console.Close)
	h.record = &record{propose: func(e arbiter.Entry) error {
		require.LessOrEqual(t, len(agentwire.Encode(e)), arbiter.MaxEntry)
		s.Apply(e)
		return nil
	}}
	h.files = h.newFiles()
	return h, s
}

// keepAll has everything happen that waits for its entry.
func (h *head) keepAll() {
	for h.record.waits() {
		h.kept()
	}
}

// However many ranks there are, a successor knows of all sets that have come to
// an end, and of the files of the last one.
func TestFilesAreInherited(t *testing.T) {
	for _, ranks := range []int{1, 3, 5000} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			degrees := make([]int, ranks)
			savers := make([]int, ranks)
			for r := range degrees {
				degrees[r], savers[r] = 2, r%2
			}
			h, s := decider(t, degrees)
			h.files.write, h.files.first = &job.Files{Dir: "/state", Job: checkpoint.Job{Build: "b", Ranks: ranks}}, 5
			h.files.restart = &job.Restart{Dir: "/before", Set: checkpoint.Set{Number: 3, Cut: 40, Files: make([]checkpoint.File, ranks)}}
			h.files.refused = []string{strings.Repeat("it is damaged ", 5000)}
			h.files.inherited().keep(h)
			h.recovery = h.newRecoveryDriver()
			var all []checkpoint.File
			for r := range ranks {
				all = append(all, checkpoint.File{Rank: r, Bytes: rand.Int64(), Sum: rand.Uint64()})
			}
			whole := func(set uint64) { h.files.keepSet(set, &setNote{Whole: wholeSet(all)}, func() {}) }
			whole(5)
			h.files.keepSet(5, &setNote{Complete: &runreport.FileSet{Set: 5, Point: 47, Bytes: 9}}, func() {})
			h.files.abandon(6, strings.Repeat("no space left ", 5000))
			h.keep(cutNote, agentwire.Encode(&recovery.Past{Cut: 61, Files: 68, Number: 8, Set: 7, At: 61, Savers: savers}), func() {})
			h.keepAll()

			inherit := func() (*files, recovery.Past) {
				next, _ := decider(t, degrees)
				past, err := next.inherit(s)
				require.NoError(t, err)
				return next.files, past
			}
			f, past := inherit()
			require.Equal(t, recovery.Past{Cut: 61, Files: 68, Number: 8, Set: 7, At: 61, Savers: savers}, past)
			require.Equal(t, h.files.write, f.write)
			var c recovery.Config
			f.configure(&c)
			require.Equal(t, recovery.Config{From: 40, Files: recovery.Files{Every: 7, First: 5}}, c)
			written, restarted := f.reports()
			require.Equal(t, &runreport.Restart{Dir: "/before", Set: 3, Point: 40, Refused: h.files.refused}, restarted)
			require.Equal(t, []runreport.FileSet{{Set: 5, Point: 47, Bytes: 9}}, written.Sets)
			require.Equal(t, uint64(6), written.Abandoned[0].Set)

			whole(7)
			h.keepAll()
			_, past = inherit()
			require.Equal(t, all, past.Whole)
			h.files.keepSet(7, &setNote{Complete: &runreport.FileSet{Set: 7, Point: 61}}, func() {})
			h.keepAll()
			f, past = inherit()
			require.Equal(t, recovery.Past{Cut: 61, Files: 68, Number: 8}, past)
			require.Len(t, f.sets, 2)
			require.Less(t, len(s.Notes), 12, "what is complete takes no pieces")
		})
	}
}

// What is kept does not grow without end.
func TestOldSetsAreForgotten(t *testing.T) {
	h, s := decider(t, []int{1, 1})
	h.files.write = new(job.Files)
	h.recovery = h.newRecoveryDriver()
	for set := uint64(1); set <= 2*keptSets; set++ {
		h.files.keepSet(set, &setNote{Whole: make([]byte, 2*wholeSize)}, func() {})
		h.files.keepSet(set, &setNote{Complete: &runreport.FileSet{Set: set}}, func() {})
		h.keepAll()
	}
	next, _ := decider(t, h.config.Degrees)
	_, err := next.inherit(s)
	require.NoError(t, err)
	f := next.files
	require.Len(t, f.sets, keptSets)
	require.EqualValues(t, keptSets+1, f.sets[0].Set)
	require.Len(t, s.Notes, keptSets)
}

func TestNotesOfAnotherJob(t *testing.T) {
	h, s := decider(t, []int{1, 1})
	h.keep(cutNote, agentwire.Encode(&recovery.Past{Cut: 3, Set: 1, At: 3, Savers: []int{0, 1}}), func() {})
	h.keepAll()
	_, err := h.inherit(s)
	require.ErrorContains(t, err, "it belongs to another job")
	s.Notes[cutNote] = []byte("\x00{")
	_, err = h.inherit(s)
	require.ErrorContains(t, err, `read the note "cut" of the lost head`)
}

// Whatever the text of a death is made of, it can be kept, and so can the reason
// why a set of files was given up.
func TestTextsThatGrowWhenTheyAreKept(t *testing.T) {
	for _, text := range []string{"x", "\x00", "\xff", "é", "<", `"`, "\u2028", "😀"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			long := strings.Repeat(text, 64<<10)
			h, s := decider(t, []int{1})
			h.files.write = new(job.Files)
			h.decide(arbiter.Entry{Kind: arbiter.Died, Cause: job.CausePanic, Text: long}, func() {})
			h.decide(arbiter.Entry{Kind: arbiter.Decided, Code: 1, Text: long}, func() {})
			h.files.abandon(1, long)
			h.keepAll()
			require.False(t, h.retired, h.ledger.text)
			require.NotEmpty(t, s.Text)
			next, _ := decider(t, []int{1})
			_, err := next.inherit(s)
			require.NoError(t, err)
			require.Len(t, next.files.given, 1)
		})
	}
}
