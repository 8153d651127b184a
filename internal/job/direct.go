package job

import "fmt"

// Direct says whether replicas of a rank that are on one host store results into
// each other's arrays.
type Direct string

const (
	DirectOff  Direct = ""     // replicas send the results
	DirectAuto Direct = "auto" // replicas store where storing takes less time than sending
	DirectOn   Direct = "on"   // replicas store wherever they can
)

// ParseDirect reads the value of a flag.
func ParseDirect(s string) (Direct, error) {
	switch s {
	case "auto":
		return DirectAuto, nil
	case "on", "true":
		return DirectOn, nil
	case "off", "false":
		return DirectOff, nil
	}
	return "", fmt.Errorf("want auto, on or off")
}
