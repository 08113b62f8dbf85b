package cpu

import "syscall"

// adviseHuge asks for huge pages under memory; where the system has none, nothing changes.
func adviseHuge(memory []byte) { _ = syscall.Madvise(memory, syscall.MADV_HUGEPAGE) }
