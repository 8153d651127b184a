package cli

import (
	"encoding/json"
	"io"
	"math"
)

// Number is a float64 that JSON can hold: NaN and infinities are null.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Result is the final output of an example.
type Result interface {
	Print(w io.Writer) // for people
}

// Print prints a result as text, or as one line of JSON if asJSON is set.
func Print(w io.Writer, r Result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	r.Print(w)
	return nil
}
