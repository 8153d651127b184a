// Until is a program that makes passes until a file exists. In each pass the ranks compare
// sums, which are wrong if a rank has lost a pass or made one twice. It sleeps for most of the
// time, and prints one line at its end.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// begun is the pass from which the file with the suffix .begun exists.
const begun = 5

func main() {
	intra.Main(func(p *intra.Process) error {
		if len(os.Args) != 2 {
			return errors.New("usage: until FILE")
		}
		return run(p, os.Args[1])
	})
}

func run(p *intra.Process, file string) error {
	var pass, mine int64
	intra.Protect(p, "pass", &pass)
	intra.Protect(p, "mine", &mine)
	for {
		if err := p.SafePoint(); err != nil {
			return err
		}
		pass, mine = pass+1, mine+int64(p.Rank())+1
		sum, err := comm.AllreduceValue(p.World(), mine, comm.Sum)
		if err != nil {
			return err
		}
		if n := int64(p.Size()); sum != pass*n*(n+1)/2 {
			return fmt.Errorf("pass %d: the sum of the ranks is %d, want %d", pass, sum, pass*n*(n+1)/2)
		}
		end := []bool{false}
		if p.Rank() == 0 {
			if end[0], err = intra.Once(p, func() (bool, error) { return look(file, pass) }); err != nil {
				return err
			}
		}
		if err := comm.Bcast(p.World(), end, 0); err != nil {
			return err
		}
		if end[0] {
			if p.Rank() == 0 {
				fmt.Println("all passes were right")
			}
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// look reports whether the file exists, and makes the one that shows that the program works.
func look(file string, pass int64) (bool, error) {
	if pass == begun {
		if err := os.WriteFile(file+".begun", nil, 0o600); err != nil {
			return false, err
		}
	}
	_, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
