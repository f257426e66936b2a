package operator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// answers are the hub's answers, one for each read; the last one is repeated.
func answers(of ...string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		answer := of[0]
		if len(of) > 1 {
			of = of[1:]
		}
		if answer == "" {
			return "", errors.New("the hub is unreachable")
		}
		return answer, nil
	}
}

func TestAReplicaEndsWhenTheHubComesBackFromABackup(t *testing.T) {
	for _, test := range []struct {
		story string
		says  []string
		ends  bool
	}{
		{"nothing happens", []string{"10", "10", "12"}, false},
		{"it is unreachable for a moment", []string{"10", "", "", "11"}, false},
		{"it comes back from a backup", []string{"10", "", "", "7"}, true},
		{"no replica saw it stop", []string{"10", "7"}, true},
		{"one answer is wrong", []string{"10", "7", "11"}, false},
		{"with a revision bump", []string{"10", "", "1000000000"}, false},
		{"it was restored before this replica began", []string{"7", "8"}, false},
	} {
		t.Run(test.story, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := (&hubStorage{revision: answers(test.says...)}).Start(ctx)
				if errors.Is(err, errHubRestored) != test.ends {
					t.Errorf("ends with %v", err)
				}
			})
		})
	}
}
