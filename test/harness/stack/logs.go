//go:build unix

package stack

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/codeconnect/vmgroup-operator/test/harness/logcheck"
)

// CheckLogs checks the logs of all managers of the stack, including restarted ones: each line must be JSON, and none can contain the password of vCenter.
func (s *Stack) CheckLogs() (lines int, err error) {
	var logs []string
	if s.Manager != nil {
		logs = append(logs, s.Manager.Log)
	}
	for _, r := range s.Replicas {
		logs = append(logs, r.Log)
	}
	var problems []error
	for _, log := range logs {
		content, err := os.ReadFile(log)
		if err != nil {
			return 0, err
		}
		if len(content) == 0 {
			problems = append(problems, fmt.Errorf("%s is empty", log))
		}
		lines += bytes.Count(content, []byte("\n"))
		for _, problem := range logcheck.Problems(content, ContainsPassword) {
			problems = append(problems, fmt.Errorf("%s, %w", log, problem))
		}
	}
	return lines, errors.Join(problems...)
}
