//go:build unix && slow

package admission

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestNobodyReachesWhatIsMeantForOthers lets each of three namespaces of three members name, by each reference of a
// group, the objects of each namespace: it can have only its own. The webhooks reject the others. If they were not
// asked, the operator creates nothing for them.
func TestNobodyReachesWhatIsMeantForOthers(t *testing.T) {
	stack.Story(t)
	m := newMatrix(t)
	m.allowUserData(m.cells[0])
	m.known()
	t.Run("webhook", m.refuses)
	t.Run("defaults", m.fillsIn)
	t.Run("reconciler", m.holds)
}

// refuses asks about every group as a dry run.
func (m *matrix) refuses(t *testing.T) {
	asked, crossed := 0, 0
	for _, r := range references {
		for _, c := range m.cells {
			for _, meant := range m.cells {
				asked++
				err := c.Create(t.Context(), c.naming(r, meant.name), client.DryRunAll)
				switch {
				case c.name == meant.name:
					passes(t, c.name+" names its own "+r.kind, err)
				case err == nil:
					crossed++
					t.Errorf("%s may name the %s of %s", c.name, r.kind, meant.name)
				default:
					refused(t, err, "spec.", r.refused)
				}
			}
		}
	}
	for _, c := range m.cells {
		asked++
		err := c.Create(t.Context(), c.withUserData(), client.DryRunAll)
		if c.member == m.cells[0].member {
			passes(t, c.name+" names a Secret", err)
		} else if refused(t, err, "spec.userDataSecretRef", "does not allow user data Secrets"); err == nil {
			crossed++
		}
	}
	t.Logf("%d requests, %d crossings", asked, crossed)
}

// fillsIn omits the references that policies fill in: each group gets its own objects.
func (m *matrix) fillsIn(t *testing.T) {
	for _, c := range m.cells {
		group := raw(c.namespace, "filled", map[string]any{"cpu": int64(1), "memory": int64(1)})
		if err := c.Create(t.Context(), group, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		spec := group.Object["spec"].(map[string]any)
		if spec["vcenter"] != "matrix" || spec["template"] != "template-"+c.name {
			t.Errorf("%s gets %v", c.name, spec)
		}
	}
}

func (c cell) withUserData() *v1alpha1.VmGroup {
	return c.group("userdata", 1, func(g *v1alpha1.VmGroup) {
		g.Spec.VCenter, g.Spec.Template = "matrix", "template-"+c.name
		g.Spec.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "cloud-init"}
	})
}

// holds creates every group as the operator itself, whom the webhooks allow, and checks the result.
func (m *matrix) holds(t *testing.T) {
	want := map[string]string{} // reasons by member, namespace and name
	create := func(c cell, group *v1alpha1.VmGroup, reason string) {
		t.Helper()
		if err := exemptClient(t, c.place).Create(t.Context(), group); err != nil {
			t.Fatalf("%s %s: %v", c.name, group.Name, err)
		}
		want[c.member+"/"+c.namespace+"/"+group.Name] = reason
	}
	for _, c := range m.cells {
		for _, r := range references {
			for _, meant := range m.cells {
				reason := v1alpha1.ReasonNotGranted
				if c.name == meant.name {
					reason = ownReason(r)
				}
				create(c, c.naming(r, meant.name), reason)
			}
		}
		switch {
		case c.member != m.cells[0].member:
			create(c, c.withUserData(), v1alpha1.ReasonUserDataDenied)
		case c.name != m.cells[0].name:
			create(c, c.withUserData(), v1alpha1.ReasonUserDataNotFound)
		default:
			create(c, c.withUserData(), "")
		}
	}
	await.Until(t, "all groups to be judged", func(ctx context.Context) (bool, error) { return m.judged(ctx, want) })
	m.onlyOwnVMs(t, want)
}

// ownReason is why a group that names its own objects has no VMs: no server is behind the cells' VCenters, and the
// simulator has other datastores and networks. "" is for groups that have VMs.
func ownReason(r reference) string {
	switch r.kind {
	case "vcenter":
		return v1alpha1.ReasonVCenterUnreachable
	case "datastore", "network":
		return v1alpha1.ReasonPlacementNotFound
	}
	return ""
}

// judged reports whether each group has the reason for which it is held, or runs without one.
func (m *matrix) judged(ctx context.Context, want map[string]string) (bool, error) {
	for _, c := range m.cells {
		var list v1alpha1.VmGroupList
		if err := c.List(ctx, &list, client.InNamespace(c.namespace)); err != nil {
			return false, err
		}
		for i := range list.Items {
			g := &list.Items[i]
			key := c.member + "/" + c.namespace + "/" + g.Name
			reason, known := want[key]
			says := slices.ContainsFunc(g.Status.Conditions, func(cond metav1.Condition) bool { return cond.Reason == reason })
			if !known || (reason == "" && g.Status.Phase != v1alpha1.PhaseRunning) || (reason != "" && !says) {
				return false, notYet{key, reason, g.Status}
			}
		}
	}
	return true, nil
}

// onlyOwnVMs checks vCenter: only groups that name their own objects have VMs.
func (m *matrix) onlyOwnVMs(t *testing.T, want map[string]string) {
	t.Helper()
	vms, err := m.person.VMs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]int{}
	for path, vm := range vms {
		// <datacenter>/vm/<root folder>/<member>/<namespace>/<group>.<part of its UID>/<VM>
		parts := strings.Split(strings.Trim(path, "/"), "/")
		if vm.Template || len(parts) < 7 {
			continue
		}
		group, _, _ := strings.Cut(parts[5], ".")
		have[parts[3]+"/"+parts[4]+"/"+group]++
	}
	for _, group := range slices.Sorted(maps.Keys(have)) {
		if reason, known := want[group]; !known || reason != "" {
			t.Errorf("%s has %d VMs, want none: %s", group, have[group], reason)
		}
	}
	for group, reason := range want {
		if reason == "" && have[group] != 1 {
			t.Errorf("%s has %d VMs, want 1", group, have[group])
		}
	}
	t.Logf("%d groups, %d with VMs", len(want), len(have))
}

// notYet returns the group that a wait is for.
type notYet struct {
	group, reason string
	status        v1alpha1.VmGroupStatus
}

func (n notYet) Error() string {
	text := n.group + " is not " + n.reason + " yet: phase " + string(n.status.Phase)
	for _, c := range n.status.Conditions {
		text += "; " + c.Type + "=" + string(c.Status) + "/" + c.Reason
	}
	return text
}
