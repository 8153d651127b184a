package runreport

// FileSet is a complete set of files.
type FileSet struct {
	Set   uint64  `json:"set"`        // its number
	Point uint64  `json:"safe_point"` // the safe point whose state it holds
	Bytes int64   `json:"bytes"`      // size of all its files
	At    float64 `json:"at_seconds"` // when it was complete
}

// AbandonedSet is a set that will never be complete.
type AbandonedSet struct {
	Set uint64 `json:"set"` // its number
	Why string `json:"why"` // the reason
}

// Checkpoint is the record of the files that were written.
type Checkpoint struct {
	Dir       string         `json:"dir"`       // folder of the sets
	Sets      []FileSet      `json:"sets"`      // complete sets
	Abandoned []AbandonedSet `json:"abandoned"` // sets that were given up
}

// Restart is the record of the files that the job began with.
type Restart struct {
	Dir     string   `json:"dir"`        // folder of the set
	Set     uint64   `json:"set"`        // the set that was used
	Point   uint64   `json:"safe_point"` // the safe point at which the job began
	Refused []string `json:"refused"`    // newer sets that could not be used, and why
}
