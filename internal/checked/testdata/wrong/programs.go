package wrong

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/intrahpc/intra"
)

const n = 96

func numbers() []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i + 1)
	}
	return x
}

func value[T any](p *T) T { return *p }

// blocks calls launch for each block of a section.
func blocks(p *intra.Process, launch func(s *intra.Section, lo, hi int)) error {
	s := p.Section()
	for lo, hi := range intra.Blocks(n, 4) {
		launch(s, lo, hi)
	}
	return s.End()
}

// Programs are programs that are all wrong.
var Programs = map[string]func(p *intra.Process) error{
	"the last element of a block": func(p *intra.Process) error {
		x, y := numbers(), make([]float64, n)
		return blocks(p, func(s *intra.Section, lo, hi int) { launchDouble(s, x, y, lo, hi) })
	},
	"the last element of an array": func(p *intra.Process) error {
		x, y := numbers(), make([]float64, n)
		s := p.Section()
		launchDouble(s, x, y, 0, n)
		return s.End()
	},
	"the element before a block": func(p *intra.Process) error {
		y := numbers()
		return blocks(p, func(s *intra.Section, lo, hi int) { launchShift(s, y, lo, hi) })
	},
	"the element before the only block": func(p *intra.Process) error {
		y := numbers()
		s := p.Section()
		launchShift(s, y, 5, n)
		return s.End()
	},
	"the element behind a window": func(p *intra.Process) error {
		x, y := numbers(), make([]float64, n)
		return blocks(p, func(s *intra.Section, lo, hi int) { launchHalo(s, x, y[lo:hi], lo, hi) })
	},
	"an element between two parts": func(p *intra.Process) error {
		x, y := numbers(), make([]float64, n)
		return blocks(p, func(s *intra.Section, lo, hi int) { launchEnds(s, x, y[lo:hi], lo, hi) })
	},
	"an element of another column": func(p *intra.Process) error {
		x, y := numbers(), make([]float64, n)
		s := p.Section()
		launchCorner(s, x, y)
		return s.End()
	},
	"behind the end of a slice": func(p *intra.Process) error {
		w := numbers()
		s := p.Section()
		launchGrow(s, w[:n-1])
		return s.End()
	},
	"a task reads the block of another task": func(p *intra.Process) error {
		y := numbers()
		return blocks(p, func(s *intra.Section, lo, hi int) { launchSmooth(s, y, lo, hi) })
	},
	"results of another task are read through a pointer": func(p *intra.Process) error {
		m := &mesh{z: numbers()}
		return blocks(p, func(s *intra.Section, lo, hi int) { launchMeshRelax(s, m, lo, hi) })
	},
	"scratch is read by the next section": func(p *intra.Process) error {
		x, work := numbers(), make([]float64, 4)
		s := p.Section()
		launchNorm(s, x, work)
		if err := s.End(); err != nil {
			return err
		}
		s = p.Section()
		launchScale(s, work, x)
		return s.End()
	},
	"scratch is read by control code": func(p *intra.Process) error {
		x, work := numbers(), make([]float64, 4)
		for range 2 {
			s := p.Section()
			launchNorm(s, x, work)
			if err := s.End(); err != nil {
				return err
			}
			x[0] = work[0]
		}
		return nil
	},
	"results are read in the section": func(p *intra.Process) error {
		x, y := numbers(), make([]float64, n)
		s := p.Section()
		launchSquare(s, x[:2], y[:2])
		t := at(y, 1)
		if err := s.End(); err != nil {
			return err
		}
		return blocks(p, func(s *intra.Section, lo, hi int) { launchCarry(s, t, x[lo:hi]) })
	},
	"results are read and computed with in the section": func(p *intra.Process) error {
		x, y := numbers(), make([]float64, n)
		s := p.Section()
		launchSquare(s, x[:2], y[:2])
		t := 3*at(y, 1) + 1
		if err := s.End(); err != nil {
			return err
		}
		return blocks(p, func(s *intra.Section, lo, hi int) { launchCarry(s, t, x[lo:hi]) })
	},
	"a carry from block to block": func(p *intra.Process) error {
		y := numbers()
		before := 0.0
		return blocks(p, func(s *intra.Section, lo, hi int) {
			if lo > 0 {
				before = at(y, lo-1)
			}
			launchCarry(s, before, y[lo:hi])
		})
	},
	"a sum is read in the section": func(p *intra.Process) error {
		x, y, sum, early := numbers(), numbers(), 0.0, 0.0
		err := blocks(p, func(s *intra.Section, lo, hi int) {
			early = value(&sum)
			launchTotal(s, x[lo:hi], &sum)
		})
		if err != nil {
			return err
		}
		return blocks(p, func(s *intra.Section, lo, hi int) { launchCarry(s, early, y[lo:hi]) })
	},
	"counts are read in the section": func(p *intra.Process) error {
		x, signs, all := numbers(), make([]int64, 2), int32(0)
		s := p.Section()
		launchCount(s, x, signs, &all)
		by := value(&signs[1])
		if err := s.End(); err != nil {
			return err
		}
		return blocks(p, func(s *intra.Section, lo, hi int) { launchShrink(s, by, x[lo:hi]) })
	},
	"a sum is set in the section": func(p *intra.Process) error {
		x, sum := numbers(), 0.0
		return blocks(p, func(s *intra.Section, lo, hi int) {
			if lo > 0 {
				set(unsafe.Slice(&sum, 1), 0, 0)
			}
			launchTotal(s, x[lo:hi], &sum)
		})
	},
	"an int is read in the section": func(p *intra.Process) error {
		x, y := []int{3, 4, 5}, make([]int, 3)
		s := p.Section()
		launchSquareInts(s, x, y)
		t := atInt(y, 1)
		if err := s.End(); err != nil {
			return err
		}
		s = p.Section()
		launchMove(s, t, x)
		return s.End()
	},
	"a carry of ints": func(p *intra.Process) error {
		y, before := make([]int, n), 0
		return blocks(p, func(s *intra.Section, lo, hi int) {
			if lo > 0 {
				before = atInt(y, lo-1)
			}
			launchMove(s, before, y[lo:hi])
		})
	},
	"results are written in the section": func(p *intra.Process) error {
		x, y := numbers(), make([]float64, n)
		s := p.Section()
		launchSquare(s, x, y)
		set(y, 5, 0)
		return s.End()
	},
	"a buffer is filled again between launches": func(p *intra.Process) error {
		y, buf := make([]float64, n), make([]float64, n/4)
		return blocks(p, func(s *intra.Section, lo, hi int) {
			fill(buf, float64(lo))
			launchSquare(s, buf, y[lo:hi])
		})
	},
	"a function counts its calls": func(p *intra.Process) error {
		x, y, f := numbers(), make([]float64, n), &counting{make([]float64, 1), map[string]int{}}
		return blocks(p, func(s *intra.Section, lo, hi int) { launchApply(s, f, x[lo:hi], y[lo:hi]) })
	},
	"a model counts its steps": func(p *intra.Process) error {
		y, m := make([]float64, n), &model{"m", &struct{ steps []int }{make([]int, 3)}}
		return blocks(p, func(s *intra.Section, lo, hi int) { launchAdvance(s, m, y[lo:hi]) })
	},
	"a model counts atomically":           steps(func() stepper { return &atomicSteps{} }),
	"a model counts in a struct in a map": steps(func() stepper { return &entries{map[string]struct{ n, of int }{"a": {}}} }),
	"a model counts in a map of anything": steps(func() stepper { return anything{"steps": 0} }),
	"a model counts beyond a part":        steps(func() stepper { return func() stepper { all := make([]int, 9); return &parts{all[:1], all} }() }),
	"a value counts through a pointer":    steps(func() stepper { return byValue{new(int)} }),
	"a model counts in a model":           steps(func() stepper { return wrapped{wrapped{byValue{new(int)}}} }),
	"one of several models counts":        steps(func() stepper { return several{&sparse{[][]float64{{1}}}, &atomicSteps{}} }),
	"an array of pointers counts":         steps(func() stepper { return array{new(int), new(int)} }),
	"the end of a chain counts":           steps(func() stepper { return newChain(100) }),
	"a generic function counts": func(p *intra.Process) error {
		x, y, f := numbers(), make([]float64, n), &counting{make([]float64, 1), map[string]int{}}
		return blocks(p, func(s *intra.Section, lo, hi int) { launchApplyAny(s, f, x[lo:hi], y[lo:hi]) })
	},
	"a writer keeps bytes": func(p *intra.Process) error {
		y, b := make([]float64, n), &bytes{}
		return blocks(p, func(s *intra.Section, lo, hi int) { launchTell(s, b, y[lo:hi]) })
	},
}

// Shares is a correct program whose tasks share scratch memory.
func Shares(p *intra.Process) error {
	x, work := numbers(), make([]float64, 4)
	return blocks(p, func(s *intra.Section, lo, hi int) { launchNorm(s, x[lo:hi], work) })
}

// steps returns a program whose tasks advance a model.
func steps(model func() stepper) func(p *intra.Process) error {
	return func(p *intra.Process) error {
		y, m := make([]float64, n), model()
		return blocks(p, func(s *intra.Section, lo, hi int) { launchAdvance(s, m, y[lo:hi]) })
	}
}

// Bounded is a correct program. Its tasks refer to more memory than checked mode follows.
func Bounded(p *intra.Process) error {
	y, m := make([]float64, n), newSparse(20, 10000)
	for range 3 {
		if err := blocks(p, func(s *intra.Section, lo, hi int) { launchAdvance(s, m, y[lo:hi]) }); err != nil {
			return err
		}
	}
	pieces := newChain(5000)
	return blocks(p, func(s *intra.Section, lo, hi int) {
		launchApply(s, &deep{pieces}, numbers()[lo:hi], y[lo:hi])
	})
}

// Large is a correct program whose tasks refer to a large memory and name it.
func Large(p *intra.Process) error {
	m := &mesh{z: make([]float64, 200_000)}
	s := p.Section()
	for lo, hi := range intra.Blocks(len(m.z), 4) {
		launchMeshWipe(s, m, lo, hi)
	}
	return s.End()
}

// deep refers to a chain.
type deep struct{ chain *chain }

func (d *deep) eval(x float64) float64 { return x }

// Folds is a correct program that uses the variables of reductions before and after the
// section.
func Folds(p *intra.Process) error {
	x, sum, signs, all := numbers(), 1.0, make([]int64, 2), int32(5)
	for range 3 {
		if err := blocks(p, func(s *intra.Section, lo, hi int) {
			launchTotal(s, x[lo:hi], &sum)
			launchCount(s, x[lo:hi], signs, &all)
		}); err != nil {
			return err
		}
		x[0] = sum / float64(all)
	}
	if want := []int64{0, 3 * n}; sum != 13996.166666666666 && !slices.Equal(signs, want) || all != 5+3*n {
		return fmt.Errorf("found %v, %v and %v", sum, signs, all)
	}
	return nil
}

// Right is a correct program. Its tasks use work memory that no clause names and that
// holds no state.
func Right(p *intra.Process) error {
	x, y, f := numbers(), make([]float64, n), &working{make([]float64, 1)}
	return blocks(p, func(s *intra.Section, lo, hi int) { launchApply(s, f, x[lo:hi], y[lo:hi]) })
}
