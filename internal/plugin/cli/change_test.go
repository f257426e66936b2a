package cli

import (
	"os/exec"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/change"
)

func TestTheCommandIsTheOneThatAPersonWouldType(t *testing.T) {
	group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	for want, test := range map[string]struct {
		change  change.Change
		context string
	}{
		"kubectl --context team-a annotate vmgroup web -n shop --overwrite vm.codeconnect.vmworld.com/paused=true": {change.Annotation{Object: group, Resource: "vmgroup", Key: v1alpha1.PausedAnnotation, Value: "true"}, "team-a"},
		"kubectl --context team-a annotate vmgroup web -n shop vm.codeconnect.vmworld.com/paused-":                 {change.Annotation{Object: group, Resource: "vmgroup", Key: v1alpha1.PausedAnnotation, Value: ""}, "team-a"},
		`kubectl --context 'it'\''s mine' annotate namespace shop --overwrite a=2026-01-31T12:00:00Z`:              {change.Annotation{Object: namespace, Resource: "namespace", Key: "a", Value: "2026-01-31T12:00:00Z"}, "it's mine"},
	} {
		if got := test.change.Command([]string{"--context", test.context}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestAShellReadsAQuotedWordAsItWas(t *testing.T) {
	for _, word := range []string{"", "a b", "it's", `"$HOME"`, "`id`", "a\nb", "-n", "*", "~", "arn:aws:eks:eu-1:1/x", `\`} {
		out, err := exec.Command("sh", "-c", "printf %s "+change.Quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q becomes %q, error %v", word, out, err)
		}
	}
}

func TestAChangeIsDoneOnlyIfTheObjectHasIt(t *testing.T) {
	object := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "1", "empty": ""}}}
	for _, test := range []struct {
		key, value string
		done       bool
	}{{"a", "1", true}, {"a", "2", false}, {"a", "", false}, {"b", "", true}, {"b", "1", false}, {"empty", "", false}} {
		if got := (change.Annotation{Object: object, Key: test.key, Value: test.value}).Done(); got != test.done {
			t.Errorf("%s=%s: %t", test.key, test.value, got)
		}
	}
}
