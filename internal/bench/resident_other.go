//go:build !linux

package bench

import "runtime"

// peakResident returns the memory, in bytes, that the Go runtime has had from the system, which is about the
// most that was resident.
func peakResident() (int64, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys), nil
}
