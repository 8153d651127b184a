//go:build system

package clauses

// patterns is the number of patterns in exchanges.
const patterns = 18

// exchanges is the code of the patterns by which ranks exchange messages.
const exchanges = `
// patterns are ways to exchange messages.
var patterns = []func(r *ranks, x []float64) error{
	// To the right, from the left.
	func(r *ranks, x []float64) error {
		buf := make([]float64, len(x))
		_, err := comm.Sendrecv(r.w, x, r.right(), r.tag, buf, r.left(), r.tag)
		mix(x, [][]float64{buf})
		return err
	},
	// The same with large messages.
	func(r *ranks, x []float64) error {
		large, buf := make([]float64, 20000), make([]float64, 20000)
		for i := range large {
			large[i] = x[i%len(x)] / 1000
		}
		_, err := comm.SendrecvReplace(r.w, large, r.right(), r.tag, r.left(), r.tag)
		if err != nil {
			return err
		}
		_, err = comm.Sendrecv(r.w, large, r.left(), r.tag+1, buf, r.right(), r.tag+1)
		mix(x, [][]float64{buf})
		return err
	},
	// A master gives the next task to the first rank that asks.
	func(r *ranks, x []float64) error {
		const tasks = 9
		if r.w.Rank() > 0 {
			for msg := []float64{-1, 0}; ; {
				if err := comm.Send(r.w, msg, 0, r.tag); err != nil {
					return err
				}
				if _, err := comm.Recv(r.w, msg, 0, r.tag+1); err != nil {
					return err
				}
				if msg[0] < 0 {
					return nil
				}
				r.see(int(msg[0]))
				msg[1] = msg[1] * (msg[0] + 1) / 10
			}
		}
		results := make([]float64, tasks)
		for next, working := 0, r.w.Size()-1; working > 0; next++ {
			var msg [2]float64
			st, err := comm.Recv(r.w, msg[:], comm.AnySource, comm.AnyTag)
			if err != nil {
				return err
			}
			r.see(st.Source)
			if msg[0] >= 0 {
				results[int(msg[0])] = msg[1]
			}
			task := []float64{float64(next), x[next%len(x)]}
			if next >= tasks {
				task[0] = -1
				working--
			}
			if err := comm.Send(r.w, task, st.Source, r.tag+1); err != nil {
				return err
			}
		}
		mix(x, [][]float64{results})
		return nil
	},
	// In order of arrival.
	func(r *ranks, x []float64) error {
		return r.all(x, func(from [][]float64) error {
			buf := make([]float64, len(x))
			for range r.w.Size() - 1 {
				st, err := comm.Recv(r.w, buf, comm.AnySource, r.tag)
				if err != nil {
					return err
				}
				copy(from[st.Source], buf)
				r.see(st.Source)
			}
			return nil
		})
	},
	// Receives from any source are begun before anything is sent.
	func(r *ranks, x []float64) error {
		var reqs []*comm.Request
		bufs := r.parts(len(x) + 1)
		for n := range r.w.Size() - 1 {
			reqs = append(reqs, comm.Irecv(r.w, bufs[n], comm.AnySource, r.tag))
		}
		own := append([]float64{float64(r.w.Rank())}, x...)
		sent := r.sends(own)
		from := r.parts(len(x))
		for n, req := range reqs {
			st, err := req.Wait()
			if err != nil {
				return err
			}
			if int(bufs[n][0]) != st.Source {
				return fmt.Errorf("a message of rank %v came from rank %d", bufs[n][0], st.Source)
			}
			r.see(st.Source)
			copy(from[st.Source], bufs[n][1:])
		}
		if err := comm.WaitAll(sent...); err != nil {
			return err
		}
		mix(x, from)
		return nil
	},
	// The first message that has arrived, by Iprobe.
	func(r *ranks, x []float64) error {
		return r.all(x, func(from [][]float64) error {
			for left := r.w.Size() - 1; left > 0; {
				st, found, err := r.w.Iprobe(comm.AnySource, r.tag)
				if err != nil {
					return err
				}
				if !found {
					r.see(-1)
					runtime.Gosched()
					continue
				}
				if _, err := comm.Recv(r.w, from[st.Source], st.Source, st.Tag); err != nil {
					return err
				}
				r.see(st.Source)
				left--
			}
			return nil
		})
	},
	// Messages of unknown length, by Probe.
	func(r *ranks, x []float64) error {
		n := 1 + (r.w.Rank()*7+r.tag)%len(x)
		sent := r.sends(slices.Clone(x[:n]))
		from := r.parts(0)
		for range r.w.Size() - 1 {
			st, err := r.w.Probe(comm.AnySource, r.tag)
			if err != nil {
				return err
			}
			from[st.Source] = make([]float64, st.Count/8)
			if _, err := comm.Recv(r.w, from[st.Source], st.Source, r.tag); err != nil {
				return err
			}
			r.see(st.Source)
		}
		if err := comm.WaitAll(sent...); err != nil {
			return err
		}
		mix(x, from)
		return nil
	},
	func(r *ranks, x []float64) error {
		return r.polled(x, func(reqs []*comm.Request) ([]int, error) {
			i, _, err := comm.WaitAny(reqs...)
			return []int{i}, err
		})
	},
	func(r *ranks, x []float64) error {
		return r.polled(x, func(reqs []*comm.Request) ([]int, error) { return comm.WaitSome(reqs...) })
	},
	func(r *ranks, x []float64) error {
		return r.polled(x, func(reqs []*comm.Request) ([]int, error) { return comm.TestSome(reqs...) })
	},
	func(r *ranks, x []float64) error {
		return r.polled(x, func(reqs []*comm.Request) ([]int, error) {
			i, _, err := comm.TestAny(reqs...)
			if err != nil || i == comm.Undefined {
				return nil, err
			}
			return []int{i}, nil
		})
	},
	// Test of one request, then TestAll of the others.
	func(r *ranks, x []float64) error {
		return r.all(x, func(from [][]float64) error {
			reqs, _ := r.receives(from)
			for n := 0; ; n++ {
				_, done, err := reqs[0].Test()
				if err != nil {
					return err
				}
				if done {
					r.see(n)
					break
				}
				runtime.Gosched()
			}
			for n := 0; ; n++ {
				done, err := comm.TestAll(reqs[1:]...)
				if err != nil || done {
					r.see(n)
					return err
				}
				runtime.Gosched()
			}
		})
	},
	// Synchronous sends to rank 0, which answers in order of arrival.
	func(r *ranks, x []float64) error {
		buf := make([]float64, len(x))
		if r.w.Rank() > 0 {
			if err := comm.Ssend(r.w, x, 0, r.tag); err != nil {
				return err
			}
			_, err := comm.Recv(r.w, buf, 0, r.tag+1)
			mix(x, [][]float64{buf})
			return err
		}
		from := r.parts(len(x))
		for range r.w.Size() - 1 {
			st, err := comm.Recv(r.w, buf, comm.AnySource, r.tag)
			if err != nil {
				return err
			}
			r.see(st.Source)
			copy(from[st.Source], buf)
			if err := comm.Ssend(r.w, x, st.Source, r.tag+1); err != nil {
				return err
			}
		}
		mix(x, from)
		return nil
	},
	// A receive that is cancelled, or gets a message.
	func(r *ranks, x []float64) error {
		buf := make([]float64, len(x))
		req := comm.Irecv(r.w, buf, comm.AnySource, r.tag+1)
		sent := comm.Isend(r.w, slices.Clone(x), r.right(), r.tag+1)
		req.Cancel()
		st, err := req.Wait()
		switch {
		case errors.Is(err, comm.ErrCancelled):
			r.see(-2)
			st, err = comm.Recv(r.w, buf, comm.AnySource, r.tag+1)
		}
		if err != nil {
			return err
		}
		r.see(st.Source)
		mix(x, [][]float64{buf})
		_, err = sent.Wait()
		return err
	},
	// Persistent requests.
	func(r *ranks, x []float64) error {
		in, out := make([]float64, len(x)), slices.Clone(x)
		receive, send := comm.RecvInit(r.w, in, comm.AnySource, r.tag), comm.SendInit(r.w, out, r.right(), r.tag)
		for n := range 3 {
			receive.Start()
			send.Start()
			if err := comm.WaitAll(receive, send); err != nil {
				return err
			}
			mix(x, [][]float64{in[:n+1]})
			copy(out, x)
		}
		return nil
	},
	// Collective operations.
	func(r *ranks, x []float64) error {
		n := r.w.Size()
		sum, root := make([]float64, len(x)), r.tag/10%n
		if err := comm.Allreduce(r.w, x, sum, comm.Max); err != nil {
			return err
		}
		scan := make([]float64, len(x))
		if err := comm.Scan(r.w, x, scan, comm.Min); err != nil {
			return err
		}
		send, recv := make([]float64, n*5), make([]float64, n*5)
		copy(send, x)
		if err := comm.Alltoall(r.w, send, recv); err != nil {
			return err
		}
		mix(x, [][]float64{sum, scan, recv})
		if err := comm.Gather(r.w, x[:5], recv, root); err != nil {
			return err
		}
		if err := comm.Scatter(r.w, recv, x[:5], root); err != nil {
			return err
		}
		return comm.Bcast(r.w, x[5:9], root)
	},
	// Collective operations that overlap, with a message between them.
	func(r *ranks, x []float64) error {
		a, b, buf := make([]float64, len(x)), slices.Clone(x), make([]float64, len(x))
		barrier := r.w.Ibarrier()
		reduced := comm.Iallreduce(r.w, slices.Clone(x), a, comm.Min)
		given := comm.Ibcast(r.w, b, r.w.Size()-1)
		if _, err := comm.Sendrecv(r.w, slices.Clone(x), r.left(), r.tag, buf, comm.AnySource, r.tag); err != nil {
			return err
		}
		for n, all := 0, []*comm.Request{barrier, reduced, given}; n < len(all); n++ {
			i, _, err := comm.WaitAny(all...)
			if err != nil {
				return err
			}
			r.see(i)
		}
		mix(x, [][]float64{a, b, buf})
		return nil
	},
	// In parts of the ranks, and in a copy of all.
	func(r *ranks, x []float64) error {
		part, err := r.w.Split(r.w.Rank()%2, -r.w.Rank())
		if err != nil {
			return err
		}
		v, err := comm.AllreduceValue(part, x[0], comm.Min)
		if err != nil {
			return err
		}
		dup, err := r.w.Dup()
		if err != nil {
			return err
		}
		buf := make([]float64, len(x))
		if _, err := comm.Sendrecv(dup, x, r.right(), r.tag, buf, comm.AnySource, r.tag); err != nil {
			return err
		}
		mix(x, [][]float64{{v}, buf})
		if err := part.Free(); err != nil {
			return err
		}
		return dup.Free()
	},
}
`
