package vmgroup

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

// The API server of a member chooses the error text of a pass.
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

// A rotated Secret ends connections, and a user can take the finalizer off while a pass runs. No person has to act.
func TestAPassThatWasOvertakenIsNoError(t *testing.T) {
	groups := schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "vmgroups"}
	for why, c := range map[string]struct {
		err   error
		error bool
	}{
		"the connection ended":              {fmt.Errorf("write: %w: %w", memberapi.ErrEnded, net.ErrClosed), false},
		"the group was removed":             {apierrors.NewNotFound(groups, "web"), false},
		"another group was removed":         {apierrors.NewNotFound(groups, "other"), true},
		"a proxy does not know the path":    {apierrors.NewGenericServerResponse(404, "patch", groups, "", "", 0, true), true},
		"the connection broke meanwhile":    {net.ErrClosed, true},
		"the member's API server is broken": {apierrors.NewInternalError(net.ErrClosed), true},
	} {
		t.Run(why, func(t *testing.T) {
			r := newRig(t)
			r.onStatus = func() error { return c.err }
			_, first := r.pass()
			result, err := r.pass()
			if err = errors.Join(first, err); (err != nil) != c.error || !c.error && result.RequeueAfter != overtakenInterval {
				t.Errorf("the passes return %+v, %v", result, err)
			}
		})
	}
}

// TestEachLineAboutAGroupNamesIt with its member and its bucket, whatever part of the controller writes it.
func TestEachLineAboutAGroupNamesIt(t *testing.T) {
	r := newRig(t)
	var lines []string
	log := funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{})
	r.logger(log)(&r.request).Info("a pass")
	stranger := r.request
	stranger.ClusterName = "not-engaged"
	r.logger(log)(&stranger).Info("a pass")
	for i, want := range []string{
		`"member":"local","namespace":"team","name":"web","bucket":0}`,
		`"member":"not-engaged","namespace":"team","name":"web","bucket":-1}`,
	} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("a line is %s, want %s", lines[i], want)
		}
	}
	if r.logger(log)(nil).Info("no pass"); strings.Contains(lines[2], "member") {
		t.Errorf("a line about no group is %s", lines[2])
	}
}
