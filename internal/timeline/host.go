package timeline

import "os"

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return name
}
