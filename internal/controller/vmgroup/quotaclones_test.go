package vmgroup

import (
	"errors"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/quota"
)

// TestAGroupThatIsGoneIsChargedWhileAnotherReplicasClonesRun: the charge used to end after eleven minutes, and a clone
// of a large template takes longer.
func TestAGroupThatIsGoneIsChargedWhileAnotherReplicasClonesRun(t *testing.T) {
	r := newRig(t)
	r.inform(r.Reconciler)
	left := func() (bool, error) {
		_, gone, err := r.Left(t.Context(), localKey("5c1b1c5e-0000-4000-8000-000000000009"), "team", "gone")
		return gone, err
	}
	r.vcenter.SetClones("task-7", "task-8")
	gone, err := left()
	var unseen *quota.UnseenError
	if gone || !errors.As(err, &unseen) || !strings.Contains(err.Error(), "task-7, task-8") {
		t.Errorf("while clones run: gone %v, %v", gone, err)
	}
	r.vcenter.SetClones()
	if gone, err := left(); !gone || err != nil {
		t.Errorf("without clones: gone %v, %v", gone, err)
	}
}
