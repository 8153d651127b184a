package agentd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/watchdog"
)

// receive writes the program that the head sends into a folder, and returns its path. The
// folder is removed with the agent.
func receive(m *agentwire.Conn, o StartPlan, dog *watchdog.Watchdog) (string, error) {
	dir, err := os.MkdirTemp("", "intrarun-")
	if err != nil {
		return "", fmt.Errorf("make room for the program: %w", err)
	}
	dog.Folder(dir)
	path := filepath.Join(dir, filepath.Base(o.Plan.Path))
	w, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", fmt.Errorf("make room for the program: %w", err)
	}
	var failed error
	for { // read to the end even if writing fails, so that the head receives the error
		f, err := m.Read()
		if err != nil || f.Kind != agentwire.KindProgram {
			w.Close()
			return "", fmt.Errorf("receive the program: %w", errors.Join(err, agentwire.ErrFrame))
		}
		if len(f.Body) == 0 {
			break
		}
		if failed == nil {
			_, failed = w.Write(f.Body)
		}
	}
	if err := errors.Join(failed, w.Close()); err != nil {
		return "", fmt.Errorf("write the program: %w", err)
	}
	if spawn.Hash(path) != o.Hash {
		return "", errors.New("the program did not arrive as it was sent")
	}
	return path, nil
}
