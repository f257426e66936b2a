// Package logcheck reads the log of a manager as a log collector does.
package logcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// most limits the reported problems.
const most = 5

// Problems returns the faults of a log: lines that are no JSON objects with level, time and message, failures without key error or with another level, and
// lines with a secret. A line of level debug can have an error, for example for a starting replica that is not ready: that is no failure. A last line without a
// line end is still being written.
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
	// The message must not repeat the secret.
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
