package vmgroup

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
