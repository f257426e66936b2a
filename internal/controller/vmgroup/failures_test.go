package vmgroup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/codeconnect/vmgroup-operator/internal/seldom"
)

// Who answers for a member chooses what the error of a pass says.
func TestTheErrorOfAPassIsShortAndNamesItsGroup(t *testing.T) {
	r := newRig(t)
	why := apierrors.NewInternalError(errors.New(hostile("no ")))
	r.onStatus = func() error { return why }
	_, err := r.pass()
	_, err2 := r.pass()
	err = errors.Join(err, err2)
	if !errors.Is(err, why) {
		t.Fatalf("the error is %v", err)
	}
	harmless(t, "the error", err2.Error())
	if text := err2.Error(); len(text) > 300+100 || !strings.HasPrefix(text, `VmGroup team/web of member "local": write status: Internal error`) {
		t.Errorf("the error has %d bytes: %s", len(text), text)
	}
}

// controller-runtime writes a line for each pass that fails, and a hundred a second may.
func TestTheLogTellsSeldomThatPassesOfAMemberFail(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	now, told := noon, &seldom.Told[string]{}
	clock := func() time.Time { return now }
	one, two := seldomFailing(log, "one", told, clock), seldomFailing(log, "two", told, clock)
	for range 1000 {
		one.WithValues("reconcileID", "x").WithName("n").Error(errors.New("it fails"), "Reconciler error")
		now = now.Add(10 * time.Millisecond)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "it fails") || !strings.Contains(lines[0], "reconcileID") {
		t.Fatalf("1000 failures in 10 seconds are told as %q", lines)
	}
	two.Error(errors.New("another"), "Reconciler error")
	one.Error(errors.New("it still fails"), "Reconciler error", "a", "b")
	one.Info("something else")
	if len(lines) != 4 || !strings.Contains(lines[1], "another") || !strings.Contains(lines[2], `"failuresOfMemberNotLogged"=999`) || !strings.Contains(lines[3], "something else") {
		t.Errorf("told is %q", lines)
	}
}
