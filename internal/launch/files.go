package launch

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/wholefile"
	"github.com/intrahpc/intra/internal/head/runreport"
)

// files are the open result files of the job.
type files struct {
	report *wholefile.File // nil: no report, or one on standard error
	trace  *wholefile.File // nil: no timeline
}

// openFiles opens the files before the run: the user learns of an error before
// the run, not after it.
func (j *Job) openFiles() (f files, err error) {
	if f.report, err = j.openReport(); err != nil {
		return f, err
	}
	if j.Trace != "" {
		if f.trace, err = wholefile.Open(j.Trace); err != nil {
			f.close()
			return f, fmt.Errorf("-trace %s: %w", j.Trace, err)
		}
	}
	return f, nil
}

func (j *Job) openReport() (*wholefile.File, error) {
	if j.Report == "" || j.Report == onStandardError {
		return nil, nil
	}
	f, err := wholefile.Open(j.Report)
	if err != nil {
		return nil, fmt.Errorf("-report %s: %w", j.Report, err)
	}
	return f, nil
}

func (f *files) close() {
	f.report.Close()
	f.trace.Close()
}

// onStandardError is the file name that puts a report on standard error.
const onStandardError = "-"

// writeReport writes a report to its file, or prints it as a note. to is nil if this head has
// not opened the file.
func (j *Job) writeReport(r *runreport.Report, to *wholefile.File, note func(format string, args ...any)) error {
	if j.Report == onStandardError {
		line, err := r.Line()
		if err == nil {
			note("%s", line)
		}
		return err
	}
	if to == nil {
		var err error
		if to, err = j.openReport(); err != nil {
			return err
		}
	}
	return r.Write(to)
}
