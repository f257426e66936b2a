package settings

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

func TestOnlyThePinnedClusterIsServed(t *testing.T) {
	pinned := Target{Name: "me", Created: time.Unix(1, 0), Config: &rest.Config{Host: "https://b"}, KnownUID: "a", Secret: "me-kubeconfig"}
	if err := pinned.Pinned("a"); err != nil {
		t.Error(err)
	}
	var problem *remote.Problem
	if err := pinned.Pinned("b"); !errors.As(err, &problem) || problem.Reason != v1alpha1.ReasonAnotherCluster || !problem.Lasting {
		t.Fatalf("another cluster: %v", err)
	}
	for _, needed := range []string{"UID b", "pinned to a", `Secret "me-kubeconfig"`, "delete this MemberCluster", "stay as they are"} {
		if !strings.Contains(problem.Message, needed) {
			t.Errorf("the message does not say %q: %s", needed, problem.Message)
		}
	}
	unpinned := Target{Name: "me"}
	if err := unpinned.Pinned("a"); !errors.As(err, &problem) || !problem.Waiting {
		t.Errorf("before the pin is kept: %v", err)
	}
}
