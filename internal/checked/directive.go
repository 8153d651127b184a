package checked

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
)

// directive returns file:line of the directive of a kernel, "" if its source is not found.
// body was made by the launcher that intragen generated for the kernel.
func directive(kernel string, body func()) string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(body).Pointer()).FileLine(reflect.ValueOf(body).Pointer())
	source, generated := strings.CutSuffix(file, "_intra.go")
	if !generated {
		return ""
	}
	f, err := os.Open(source + ".go")
	if err != nil {
		return ""
	}
	defer f.Close()
	_, name, _ := strings.Cut(kernel[strings.LastIndexByte(kernel, '/')+1:], ".")
	head := `^func ` + regexp.QuoteMeta(name) + `[\[(]`
	if recv, method, ok := strings.Cut(name, "."); ok {
		head = `^func \(\w+ \*?` + regexp.QuoteMeta(recv) + `(\[.*\])?\) ` + regexp.QuoteMeta(method) + `\(`
	}
	is, err := regexp.Compile(head)
	if err != nil {
		return ""
	}
	at := 0 // position of the first directive in the last comment
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "//intra:task"):
			if at == 0 {
				at = n
			}
		case strings.HasPrefix(line, "//"):
		case at > 0 && is.MatchString(line):
			return fmt.Sprintf("%s:%d", filepath.Base(source+".go"), at)
		default:
			at = 0
		}
	}
	return ""
}
