package logcheck

import (
	"bytes"
	"fmt"
)

// Container returns what a container has written, of the file in which a container runtime keeps it: each line there has a time, the stream and whether
// the rest is a full line (F) or a part of one (P). A last line without an end is one that is being written.
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
