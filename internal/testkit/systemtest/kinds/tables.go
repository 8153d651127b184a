//go:build !intra

package main

import "github.com/intrahpc/intra"

// changes is a program whose tasks change blocks of y by f.
func changes(f func(x, y []float64)) program {
	return func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			change(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	}
}

// fills is a program whose tasks fill blocks of y by f.
func fills(f func(x, y []float64)) program {
	return func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			fill(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	}
}

// fillsBy is a program whose tasks fill blocks of y by a function that can access the
// arrays.
func fillsBy(with func(a *arrays) func(x, y []float64)) program {
	return func(p *intra.Process, a *arrays) error { return fills(with(a))(p, a) }
}

// changesPlaces is a program whose tasks change the parts of the arrays that places returns.
func changesPlaces(places func(a *arrays, lo, hi int) (x, y []float64)) program {
	return func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			x, y := places(a, lo, hi)
			change(addTo, x, y)
		}
		return nil
	}
}

func addTo(x, y []float64) {
	for i := range y {
		y[i] += x[i%len(x)]
	}
}

// computes is a program whose tasks compute y from x by a function.
func computes(with func(a *arrays) func(float64) float64) program {
	return func(p *intra.Process, a *arrays) error {
		f := with(a)
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			apply(f, a.x[lo:hi], a.y[lo:hi])
		}
		return nil
	}
}

// carriesOn is a program in which the code of the section computes a value before each
// block.
func carriesOn(before func(a *arrays, lo int) float64) program {
	return func(p *intra.Process, a *arrays) error {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(length, tasks) {
			carry(before(a, lo), a.y[lo:hi])
		}
		return nil
	}
}

// block carries a value into one block, and returns the last value.
func block(p *intra.Process, before float64, v []float64) float64 {
	//intra:section on(p)
	{
		carry(before, v)
	}
	return v[len(v)-1]
}

// bins counts the elements of x by their integer part.
func bins(p *intra.Process, x []float64) []int {
	each := make([]int, 4)
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(x), tasks) {
		histogram(x[lo:hi], each)
	}
	return each
}

// sums returns the sum of each block.
func sums(p *intra.Process, x []float64) []float64 {
	each := make([]float64, tasks)
	//intra:section on(p)
	for t := range tasks {
		sumOf(x[t*len(x)/tasks:(t+1)*len(x)/tasks], &each[t])
	}
	return each
}
