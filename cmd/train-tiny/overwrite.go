package main

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// checkReplace refuses to write the file that a flag names where something else than an earlier one of its kind
// would be lost. It may be missing or empty, or no regular file, such as a pipe. Files of the kind begin with the
// bytes given.
func checkReplace(flag, path, kind, begin string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // if it cannot be written, that is told later
	}
	f, err := os.Open(path)
	if err != nil {
		return usagef("--%s %s exists and cannot be read: %w; name another file", flag, path, errors.Unwrap(err))
	}
	defer f.Close()
	first := make([]byte, len(begin))
	if _, err := io.ReadFull(f, first); err != nil || !bytes.Equal(first, []byte(begin)) {
		return usagef("--%s %s exists and is not an earlier %s; name another file, or remove this one", flag, path, kind)
	}
	return nil
}
