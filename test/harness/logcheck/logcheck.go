// Package logcheck reads the log of a manager as a program does that collects logs.
package logcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// most bounds how many problems are named.
const most = 5

// Problems returns what is wrong with a log: lines that are no JSON objects with level, time and message, failures without key error or with another
// level, and lines with a secret. A line of level debug can have an error: it is no failure that a replica is not ready while it starts. A last line without an end is one that is being written.
func Problems(log []byte, secret func(text string) bool) (problems []error) {
	number := 0
	for line := range bytes.Lines(log) {
		number++
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := wrong(line, secret); err != nil {
			problems = append(problems, fmt.Errorf("line %d: %w", number, err))
		}
		if len(problems) == most {
			break
		}
	}
	return problems
}

func wrong(line []byte, secret func(text string) bool) error {
	// The secret is not repeated.
	if secret(string(line)) {
		return fmt.Errorf("it has a secret")
	}
	var got struct {
		Level, Msg string
		TS         time.Time
		Error      *json.RawMessage
	}
	if err := json.Unmarshal(line, &got); err != nil {
		return fmt.Errorf("%w: %s", err, line)
	}
	switch {
	case got.Msg == "" || got.TS.IsZero():
		return fmt.Errorf("it has no message or no time: %s", line)
	case got.Level != "debug" && got.Level != "info" && got.Level != "error":
		return fmt.Errorf("its level is %q: %s", got.Level, line)
	case got.Level == "error" && got.Error == nil || got.Level == "info" && got.Error != nil:
		return fmt.Errorf("level error and key error belong together: %s", line)
	}
	return nil
}
