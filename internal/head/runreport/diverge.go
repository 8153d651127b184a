package runreport

// Diverge holds the findings of the comparison of replicas' states. See docs/programs.md.
type Diverge struct {
	Mode     string   `json:"mode"`     // from -diverge: strict or warn
	Hashes   int64    `json:"hashes"`   // hashes taken by all processes
	Compared int64    `json:"compared"` // pairs of hashes compared, each counted once
	Seconds  float64  `json:"seconds"`  // time that all processes spent on hashing and comparing
	Differed []string `json:"differed"` // how states differed, a text for each rank
}
