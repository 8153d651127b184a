package comm

import "fmt"

// View is a regular selection of the elements of a slice, like a column or a face of an
// array. It consists of Count blocks of Block elements. Successive blocks begin Stride
// elements apart.
type View[T any] struct {
	Data                 []T
	Count, Block, Stride int
}

// Len returns the number of elements selected.
func (v View[T]) Len() int { return v.Count * v.Block }

func (v View[T]) check() error {
	if v.Count < 0 || v.Block < 0 || v.Stride < v.Block && v.Count > 1 ||
		v.Len() > 0 && (v.Count-1)*v.Stride+v.Block > len(v.Data) {
		return fmt.Errorf("%w: %d blocks of %d elements, %d apart, of %d", ErrCount, v.Count, v.Block, v.Stride, len(v.Data))
	}
	return nil
}

// touch makes the elements current if c can be used. Otherwise the call that follows fails.
func (v View[T]) touch(c *Comm) error {
	if checkElement[T]() != nil || c.usable() != nil {
		return nil
	}
	return touch(c, v.Data)
}

func (v View[T]) pack() []T {
	out := make([]T, 0, v.Len())
	for i := range v.Count {
		out = append(out, v.Data[i*v.Stride:i*v.Stride+v.Block]...)
	}
	return out
}

func (v View[T]) unpack(in []T) {
	for i := range v.Count {
		in = in[copy(v.Data[i*v.Stride:i*v.Stride+v.Block], in):]
	}
}

// SendView is like Send, for the elements that v selects, in order. The receiver may use a
// View of another shape, or none.
func SendView[T any](c *Comm, v View[T], dst, tag int) error {
	_, err := IsendView(c, v, dst, tag).Wait()
	return err
}

// RecvView is like Recv, into the elements that v selects.
func RecvView[T any](c *Comm, v View[T], src, tag int) (Status, error) {
	return IrecvView(c, v, src, tag).Wait()
}

// IsendView begins a SendView. The program may change the elements once IsendView has returned.
func IsendView[T any](c *Comm, v View[T], dst, tag int) *Request {
	if err := v.check(); err != nil {
		return &Request{c: c, active: true, err: fmt.Errorf("send to rank %d: %w", dst, err)}
	}
	if err := v.touch(c); err != nil {
		return &Request{c: c, active: true, err: fmt.Errorf("send to rank %d: %w", dst, err)}
	}
	return Isend(c, v.pack(), dst, tag)
}

// IrecvView begins a RecvView. The elements are written by the Wait or Test
// that reports completion.
func IrecvView[T any](c *Comm, v View[T], src, tag int) *Request {
	if err := v.check(); err != nil {
		return &Request{c: c, active: true, err: fmt.Errorf("receive from rank %d: %w", src, err)}
	}
	if err := v.touch(c); err != nil {
		return &Request{c: c, active: true, err: fmt.Errorf("receive from rank %d: %w", src, err)}
	}
	in := make([]T, v.Len())
	r := RecvInit(c, in, src, tag)
	r.finish = func() { v.unpack(in[:min(max(r.st.Count, 0), len(in))]) }
	r.Start()
	return r
}
