package reduce

import "reflect"

// Operations is the set of arithmetic operations that an operator performs.
type Operations uint8

// These are the operations whose results depend on their order because of rounding.
const (
	Adds Operations = 1 << iota
	Multiplies
)

// Part is the partial result of a task.
type Part struct {
	Into any // address of the variable into which it is folded
	Acts Operations
	Fold func()
}

// FoldIn folds sums and products in another order, for intravary -order. order returns a
// permutation of n parts. Results of other operators keep their order.
func (r *Results) FoldIn(order func(n int) []int) {
	var all []Part
	for _, f := range r.folders {
		all = append(all, f.Parts()...)
	}
	places := make(map[any][]int) // by variable: the places of its parts
	for i := range all {
		places[all[i].Into] = append(places[all[i].Into], i)
	}
	turn := make([]int, len(all)) // by place: the part that is folded there
	for i := range turn {
		turn[i] = i
	}
	for i := range all {
		same := places[all[i].Into]
		acts := all[i].Acts
		for _, k := range same {
			acts &= all[k].Acts
		}
		if i != same[0] || acts == 0 { // it was permuted with the first part of its variable, or keeps its order
			continue
		}
		for k, from := range order(len(same)) {
			turn[same[k]] = same[from]
		}
	}
	for _, i := range turn {
		all[i].Fold()
	}
}

func (c *cells[T]) Parts() []Part {
	acts, all := c.acts(), make([]Part, c.n)
	for i := range all {
		all[i] = Part{c.v, acts, func() { *c.v = c.all[i].op(*c.v, *c.all[i].partial) }}
	}
	return all
}

// acts reports whether the operator gives the same results as + or * on these cells. A
// function value itself does not show which operation it is.
func (c *cells[T]) acts() Operations {
	may, was := Adds|Multiplies, reflect.ValueOf(*c.v)
	for i := range c.n {
		x := reflect.ValueOf(*c.all[i].partial)
		for _, pair := range [][2]reflect.Value{{was, x}, {x, was}} {
			sum, product, ok := arithmetic(pair[0], pair[1])
			if !ok {
				return 0
			}
			is := any(c.all[i].op(pair[0].Interface().(T), pair[1].Interface().(T)))
			if is != sum {
				may &^= Adds
			}
			if is != product {
				may &^= Multiplies
			}
		}
		was = x
	}
	return may
}

// arithmetic returns the sum and the product of two floating-point numbers.
func arithmetic(a, b reflect.Value) (sum, product any, ok bool) {
	s, p := reflect.New(a.Type()).Elem(), reflect.New(a.Type()).Elem()
	switch a.Kind() {
	case reflect.Float32, reflect.Float64: // rounding a float64 result to float32 gives the same float32
		s.SetFloat(a.Float() + b.Float())
		p.SetFloat(a.Float() * b.Float())
	case reflect.Complex128:
		s.SetComplex(a.Complex() + b.Complex())
		p.SetComplex(a.Complex() * b.Complex())
	case reflect.Complex64:
		x, y := complex64(a.Complex()), complex64(b.Complex())
		s.SetComplex(complex128(x + y))
		p.SetComplex(complex128(x * y))
	default:
		return nil, nil, false
	}
	return s.Interface(), p.Interface(), true
}
