//go:build unix

package admission

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
)

// run sends the request of each case as a dry run. hub reports whether the webhooks respond.
func (s *scene) run(t *testing.T, hub bool) {
	t.Helper()
	for _, c := range s.cases {
		t.Run(c.Name, func(t *testing.T) {
			s.warned.take()
			group, err := s.send(t.Context(), c)
			s.compare(t, c, hub, group, err, s.warned.take())
		})
	}
}

// send sends the request of a case, and returns the group as the API server would have stored it. A group with a write
// conflict is read again: the operator writes finalizers and status.
func (s *scene) send(ctx context.Context, c policytest.Case) (group *unstructured.Unstructured, err error) {
	key := client.ObjectKey{Namespace: c.Namespace, Name: c.Group}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		group = raw(c.Namespace, c.Group, c.Spec)
		switch {
		case c.Old == nil:
			return s.asker.Create(ctx, group, client.DryRunAll)
		case c.Scale != nil:
			return scale(ctx, s.asker, c.Namespace, c.Group, *c.Scale, metav1.DryRunAll)
		}
		wanted := group.Object["spec"]
		if err := s.asker.Get(ctx, key, group); err != nil {
			return fmt.Errorf("read the group: %w", err)
		}
		if delete(group.Object, "spec"); wanted != nil {
			group.Object["spec"] = wanted
		}
		labels := map[string]string{"example.com/edited": "yes"}
		group.SetLabels(labels)
		return s.asker.Update(ctx, group, client.DryRunAll)
	})
	return group, err
}

// compare compares a response with the table. The admission policies run before the webhook: if they reject a request,
// the webhook is not asked.
func (s *scene) compare(
	t *testing.T, c policytest.Case, hub bool, group *unstructured.Unstructured, err error, warnings []string,
) {
	t.Helper()
	verdict, message := c.WithoutHub(hub || s.fills)
	var wantWarnings []string
	// Nor is it for an unchanged spec.
	stays := c.Old != nil && c.Scale == nil && reflect.DeepEqual(c.Old, c.Spec)
	if hub && verdict == policytest.Allowed && !stays {
		if len(c.Refused) > 0 {
			verdict, message = policytest.Refused, strings.Join(c.Refused, "; ")
		}
		for _, w := range c.Warnings {
			wantWarnings = append(wantWarnings, shorten(w))
		}
	}
	switch {
	case verdict == policytest.Allowed && err != nil:
		t.Errorf("refused: %v", err)
	case verdict == policytest.Refused && !apierrors.IsInvalid(err):
		t.Errorf("got %v, want it refused as invalid: %s", err, message)
	case verdict == policytest.Refused && message != "" && reason(err) != message:
		t.Errorf("message\n%s, want\n%s", reason(err), message)
	}
	// The webhook also warns about the fate of VMs, and about defaults that change a value. The table has only the
	// policies' objections to a group.
	ofPolicies := slices.DeleteFunc(slices.Clone(warnings), func(w string) bool {
		return !strings.Contains(w, "VmGroupPolicy") || strings.Contains(w, "is left out and becomes")
	})
	if !slices.Equal(ofPolicies, wantWarnings) {
		t.Errorf("warnings\n%s, want\n%s", strings.Join(ofPolicies, "\n"), strings.Join(wantWarnings, "\n"))
	}
	if err == nil && c.Scale == nil {
		checkFilled(t, c, group)
	}
}

// checkFilled compares the filled-in values with the table. A value that a policy can fill in and did not stays as
// written.
func checkFilled(t *testing.T, c policytest.Case, group *unstructured.Unstructured) {
	t.Helper()
	for _, field := range []string{"cpu", "memory", "template", "vcenter", "disks.root.sizeGiB"} {
		path := strings.Split(field, ".")
		want, filled := c.Filled["spec."+field]
		if !filled {
			var err error
			if want, _, err = unstructured.NestedFieldNoCopy(c.Spec, path...); err != nil {
				t.Fatal(err)
			}
		}
		got, _, err := unstructured.NestedFieldNoCopy(group.Object, append([]string{"spec"}, path...)...)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("spec.%s is %v, want %v", field, got, want)
		}
	}
}

// reason is the message of a policy or the webhook in err, without the prefix of the API server.
func reason(err error) string {
	if err == nil {
		return ""
	}
	for _, before := range []string{"denied request: ", "denied the request: "} {
		if _, message, found := strings.Cut(err.Error(), before); found {
			return message
		}
	}
	return err.Error()
}

// shorten cuts a warning as the webhook does: Kubernetes passes on 256 bytes of each.
func shorten(warning string) string {
	const most, ellipsis = 256, "…"
	if len(warning) <= most {
		return warning
	}
	return warning[:most-len(ellipsis)] + ellipsis
}
