package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"tinylm/internal/device/cpu"
)

// versionCmd shows the version.
type versionCmd struct{}

// Run is called by the parser.
func (versionCmd) Run(s *streams) error {
	_, err := fmt.Fprintf(s.out, "train-tiny %s\n%s %s/%s\nGOMAXPROCS %d, %s\n",
		buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), instructionsText(cpu.Default().ISA()))
	return err
}

// buildVersion is that of the module, or the commit that a working copy was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version != "" && version != "(devel)" {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel " + s.Value
		}
	}
	return "devel"
}
