package intra

import "reflect"

// operation is a set of what an operator may be, as far as is known.
type operation uint8

const (
	adds operation = 1 << iota
	multiplies
)

// part is a partial result of a task.
type part struct {
	into any // the address of what it is folded into
	acts operation
	fold func()
}

// foldOtherwise folds sums and products in another order, as intrarun -vary order wants
// it: that which order returns for so many parts. All else is folded as it is.
func foldOtherwise(folds []folder, order func(n int) []int) {
	var all []part
	for _, f := range folds {
		all = append(all, f.parts()...)
	}
	places := make(map[any][]int) // by what is folded into
	for i := range all {
		places[all[i].into] = append(places[all[i].into], i)
	}
	turn := make([]int, len(all)) // which part is folded at which place
	for i := range turn {
		turn[i] = i
	}
	for i := range all {
		same := places[all[i].into]
		acts := all[i].acts
		for _, k := range same {
			acts &= all[k].acts
		}
		if i != same[0] || acts == 0 { // it had its turn with the first one, or has to wait for it
			continue
		}
		for k, from := range order(len(same)) {
			turn[same[k]] = same[from]
		}
	}
	for _, i := range turn {
		all[i].fold()
	}
}

func (c *cells[T]) parts() []part {
	acts, all := c.acts(), make([]part, c.n)
	for i := range all {
		all[i] = part{c.v, acts, func() { *c.v = c.all[i].op(*c.v, *c.all[i].partial) }}
	}
	return all
}

func (p *Partial[T]) parts() []part {
	if len(p.v) == 0 {
		return nil
	}
	return []part{{&p.v[0], p.op.acts, p.fold}}
}

// acts reports whether the operator does with these cells what + does, or *: of a
// function nobody knows what it is.
func (c *cells[T]) acts() operation {
	may, was := adds|multiplies, reflect.ValueOf(*c.v)
	for i := range c.n {
		x := reflect.ValueOf(*c.all[i].partial)
		for _, pair := range [][2]reflect.Value{{was, x}, {x, was}} {
			sum, product, ok := arithmetic(pair[0], pair[1])
			if !ok {
				return 0
			}
			is := any(c.all[i].op(pair[0].Interface().(T), pair[1].Interface().(T)))
			if is != sum {
				may &^= adds
			}
			if is != product {
				may &^= multiplies
			}
		}
		was = x
	}
	return may
}

// arithmetic returns the sum and the product of two numbers that round.
func arithmetic(a, b reflect.Value) (sum, product any, ok bool) {
	s, p := reflect.New(a.Type()).Elem(), reflect.New(a.Type()).Elem()
	switch a.Kind() {
	case reflect.Float32, reflect.Float64: // a float32 is rounded once, by either way
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
