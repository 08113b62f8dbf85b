package bench

import (
	"bytes"
	"fmt"
	"os"
)

// peakResident returns the most memory, in bytes, that the process has had resident.
func peakResident() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			var kilobytes int64
			_, err := fmt.Sscanf(string(value), "%d kB", &kilobytes)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no line VmHWM")
}
