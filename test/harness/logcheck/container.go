package logcheck

import (
	"bytes"
	"fmt"
)

// Container returns the output of a container from the log file of the container runtime. Each line of the file has a time, the stream, and a mark for
// a full line (F) or a part of one (P). A last line without a line end is still being written.
func Container(file []byte) ([]byte, error) {
	var log []byte
	number := 0
	for line := range bytes.Lines(file) {
		number++
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		fields := bytes.SplitN(line, []byte(" "), 4)
		if len(fields) != 4 {
			return nil, fmt.Errorf("line %d is none of a container runtime: %s", number, line)
		}
		switch text := fields[3]; string(fields[2]) {
		case "F":
			log = append(log, text...)
		case "P":
			log = append(log, bytes.TrimSuffix(text, []byte("\n"))...)
		default:
			return nil, fmt.Errorf("line %d is neither full nor a part: %s", number, line)
		}
	}
	return log, nil
}
