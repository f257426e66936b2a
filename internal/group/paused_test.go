package group

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestAMisspelledPausePauses(t *testing.T) {
	for value, paused := range map[string]bool{
		"true": true, "True": true, "1": true, "yes": true, "until monday": true,
		"": false, "false": false, "False": false, "0": false,
	} {
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.PausedAnnotation: value}}}
		if got := Paused(group, "a", false) != nil; got != paused {
			t.Errorf("the annotation with value %q pauses: %v, want %v", value, got, paused)
		}
	}
}
