// Package version reports the version of this module from which a command was built.
package version

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// Line returns the version line of a command: its name, the version of the module
// and, if it was built in a repository, the commit.
func Line(command string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return command + " of an unknown version"
	}
	return line(command, info)
}

func line(command string, info *debug.BuildInfo) string {
	module := &info.Main
	for _, d := range info.Deps { // a command of this module, built in another module
		if d.Path == path {
			module = d
		}
	}
	details := []string{info.GoVersion}
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if c := settings["vcs.revision"]; c != "" && module == &info.Main {
		details = append(details, "commit "+c[:min(len(c), 12)])
		if settings["vcs.modified"] == "true" {
			details = append(details, "modified")
		}
	}
	details = append(details, settings["GOOS"]+"/"+settings["GOARCH"])
	return fmt.Sprintf("%s %s (%s)", command, module.Version, strings.Join(details, ", "))
}

const path = "github.com/intrahpc/intra"

// Asked reports whether the arguments of a command ask only for its version.
func Asked(args []string) bool {
	return len(args) == 1 && (args[0] == "-version" || args[0] == "--version")
}
