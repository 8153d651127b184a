package job

import "fmt"

// Direct selects whether replicas of a rank that are on one host store results directly
// into each other's arrays.
type Direct string

const (
	DirectOff  Direct = ""     // replicas send the results
	DirectAuto Direct = "auto" // replicas store results if that takes less time than sending them
	DirectOn   Direct = "on"   // replicas store results whenever it is possible
)

// ParseDirect parses the value of a flag.
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
