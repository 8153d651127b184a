package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// small returns the settings of a short run.
func small(s stencil, m method, nx, ny, nz int) settings {
	return settings{stencil: s, method: m, n: [3]int{nx, ny, nz}, vars: 2, steps: 12, spikes: 2, tasks: 16}
}

// simulate returns a program that computes the result of these settings.
func simulate(set settings) agreement.Program[*result] {
	return func(p *intra.Process) (*result, error) {
		s, err := newSimulation(p, set)
		if err != nil {
			return nil, err
		}
		if err := s.run(); err != nil {
			return nil, err
		}
		r, err := s.result()
		if err != nil {
			return nil, err
		}
		r.Times, r.Seconds = seconds{}, 0
		return r, nil
	}
}

// The sum of a grid and of all its losses is constant.
func TestSumsAreConserved(t *testing.T) {
	for s := range stencils {
		for _, n := range [][3]int{{10, 9, 8}, {7, 1, 2}, {1, 1, 1}} {
			set := small(stencil(s), bspma, n[0], n[1], n[2])
			set.steps = 100
			for _, ranks := range []int{1, 4} {
				r := simulate(set).Alone(t, ranks)[0]
				require.True(t, r.Verified)
				require.Less(t, float64(r.Error), 1e-12, "%s %v", stencil(s), n)
				require.InEpsilonSlice(t, r.Sources, r.Sums, 1e-12)
			}
		}
	}
}

// The bits of the grids do not depend on the division of the domain, on the way in which
// variables share messages, or on the number of tasks.
func TestCutsGiveTheSameBits(t *testing.T) {
	seen := map[string]stencil{}
	for s := range stencils {
		whole := small(stencil(s), bspma, 24, 20, 18)
		want := simulate(whole).Alone(t, 1)
		require.NotContains(t, seen, want[0].Hash)
		seen[want[0].Hash] = stencil(s)
		for i, ranks := range [][3]int{{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 1}, {1, 2, 3}, {2, 2, 2}} {
			set := whole
			set.ranks, set.method, set.tasks = ranks, method(i%2), 1+3*i
			for d := range set.n {
				set.n[d] /= ranks[d]
			}
			got := simulate(set).Alone(t, ranks[0]*ranks[1]*ranks[2])
			require.Equal(t, want[0].Hash, got[0].Hash, "%s on %v", whole.stencil, ranks)
			require.InEpsilonSlice(t, want[0].Sums, got[0].Sums, 1e-13)
		}
	}
}

// Each point is averaged with the neighbours of the stencil.
func TestAverages(t *testing.T) {
	reach := map[stencil]func(dx, dy, dz int) bool{
		cross5:  func(dx, dy, dz int) bool { return dz == 0 && dx*dy == 0 },
		square9: func(dx, dy, dz int) bool { return dz == 0 },
		cross7:  func(dx, dy, dz int) bool { return dx*dx+dy*dy+dz*dz <= 1 },
		cube27:  func(dx, dy, dz int) bool { return true },
	}
	for s, in := range reach {
		b, err := newBox([3]int{5, 4, 3}, [3]int{}, 0, 1)
		require.NoError(t, err)
		u, v := make([]float64, b.size()), make([]float64, b.size())
		for i := range u {
			u[i] = float64(mix(7, uint64(i)) % 1000)
		}
		lo, hi := b.height(), b.height()*(b.n[2]+1)
		for i := range v {
			v[i] = -1
		}
		average(u, s, b, lo, v[lo*b.width():hi*b.width()])
		for z := 1; z <= b.n[2]; z++ {
			for y := 0; y <= b.n[1]+1; y++ {
				for x := 0; x <= b.n[0]+1; x++ {
					sum, count := 0.0, 0
					for k := range 27 {
						if dx, dy, dz := k%3-1, k/3%3-1, k/9-1; in(dx, dy, dz) && x%(b.n[0]+1) > 0 && y%(b.n[1]+1) > 0 {
							sum += u[b.index(x+dx, y+dy, z+dz)]
							count++
						}
					}
					if count == 0 {
						require.Zero(t, v[b.index(x, y, z)])
						continue
					}
					require.Equal(t, s.points(), count)
					require.InEpsilon(t, sum/float64(count), v[b.index(x, y, z)], 1e-14)
				}
			}
		}
		require.Equal(t, -1.0, v[b.index(2, 2, 0)])
	}
}

// The faces of all ranks contain each point at a wall once, and no other point.
func TestFaces(t *testing.T) {
	for _, n := range [][3]int{{4, 3, 2}, {1, 1, 1}, {1, 3, 1}, {5, 1, 2}} {
		for s := range stencils {
			s := stencil(s)
			for rank := range 8 {
				for _, ranks := range [][3]int{{2, 2, 2}, {8, 1, 1}, {1, 2, 4}} {
					b, err := newBox(n, ranks, rank, 8)
					require.NoError(t, err)
					seen := map[int]int{}
					for _, f := range b.faces(s.flat()) {
						require.Positive(t, f.points())
						b.rows(f, func(lo, hi int) {
							for at := lo; at < hi; at++ {
								seen[at]++
							}
						})
					}
					for z := 1; z <= n[2]; z++ {
						for y := 1; y <= n[1]; y++ {
							for x := 1; x <= n[0]; x++ {
								want := 0
								if s.outside([3]int{b.around(0, x), b.around(1, y), b.around(2, z)}) > 0 {
									want = 1
								}
								require.Equal(t, want, seen[b.index(x, y, z)])
								delete(seen, b.index(x, y, z))
							}
						}
					}
					require.Empty(t, seen)
				}
			}
		}
	}
}

// The check finds a value that changes by itself, and a loss that is not counted.
func TestVerificationFindsFaults(t *testing.T) {
	for what, spoil := range map[string]func(*simulation){
		"nothing":          func(*simulation) {},
		"a point":          func(s *simulation) { s.variables[1].grid[s.box.index(3, 3, 3)] += 0.1 },
		"a face forgotten": func(s *simulation) { s.faces = s.faces[1:] },
		"not a number":     func(s *simulation) { s.variables[0].lost /= 0 * s.variables[0].lost },
	} {
		s, err := newSimulation(nil, small(cube27, bspma, 10, 10, 10))
		require.NoError(t, err)
		require.NoError(t, s.begin())
		spoil(s)
		require.NoError(t, s.advance())
		r, err := s.result()
		require.NoError(t, err)
		require.Equal(t, what == "nothing", r.Verified, fmt.Sprint(what, r.Error))
	}
}

func TestGridOfRanks(t *testing.T) {
	b, err := newBox([3]int{4, 4, 4}, [3]int{}, 5, 8)
	require.NoError(t, err)
	require.Equal(t, [3]int{1, 0, 1}, b.at)
	_, err = newBox([3]int{4, 4, 4}, [3]int{2, 0, 1}, 0, 2)
	require.EqualError(t, err, "-npx 2 -npy 0 -npz 1 make 0 ranks, and there are 2 (intrarun -n)")
}
