package death

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Record writes boot into the file that the kubelet returns as the message of the container's termination, and
// overwrites the file's content. It creates no file: if the file is missing, no kubelet reads it. It reports whether
// boot was written.
func Record(file, boot string) (written bool, err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open the termination message: %w", err)
	}
	_, err = f.WriteString(boot)
	if err = errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("write the termination message: %w", err)
	}
	return true, nil
}
