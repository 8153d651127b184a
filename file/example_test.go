package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/file"
)

// Two ranks with two replicas each write one file, once.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "field")
	err = intra.Run(context.Background(), intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
		f, err := file.Create(p, p.World(), name)
		if err != nil {
			return err
		}
		part := fmt.Appendf(nil, "rank %d\n", p.Rank())
		if err := f.WriteAtAll(part, int64(p.Rank()*len(part))); err != nil {
			return err
		}
		return f.Close()
	})
	b, _ := os.ReadFile(name)
	fmt.Print(string(b), err)
	// Output:
	// rank 0
	// rank 1
	// <nil>
}
