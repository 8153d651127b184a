package runreport

// FileSet is a complete set.
type FileSet struct {
	Set   uint64  `json:"set"`
	Point uint64  `json:"safe_point"`
	Bytes int64   `json:"bytes"`
	At    float64 `json:"at_seconds"`
}

// AbandonedSet is one that will never be complete.
type AbandonedSet struct {
	Set uint64 `json:"set"`
	Why string `json:"why"`
}

// Checkpoint is what the report says about files that were written.
type Checkpoint struct {
	Dir       string         `json:"dir"`
	Sets      []FileSet      `json:"sets"`
	Abandoned []AbandonedSet `json:"abandoned"`
}

// Restart is what it says about the files that the job began with.
type Restart struct {
	Dir     string   `json:"dir"`
	Set     uint64   `json:"set"`
	Point   uint64   `json:"safe_point"`
	Refused []string `json:"refused"`
}
