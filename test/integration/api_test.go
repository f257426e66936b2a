//go:build unix

package integration

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// object parses YAML into an object of the operator's group.
func object(t *testing.T, kind, content string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	return o
}

func TestWhatTheAPIServerAcceptsAndRefuses(t *testing.T) {
	w := calm.enter(t)
	member, hub := w.Members["team-a"], w.Hub
	long := strings.Repeat("a", 64)
	for _, c := range []struct {
		story   string
		cluster *stack.Cluster
		kind    string
		content string
		refused string
	}{
		// Values that the original operator accepted.
		{"the original's vg-1", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, replicas: 3, template: t}}", ""},
		{"an object without a spec", member, "VmGroup", "{metadata: {name: x, namespace: default}}", ""},
		{"replicas left to an autoscaler", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t}}", ""},
		// Bounds.
		{"no CPU", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {memory: 1, template: t}}", "spec.cpu"},
		{"zero CPUs", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 0, memory: 1, template: t}}", "spec.cpu"},
		{"too much memory", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 24577, template: t}}", "spec.memory"},
		{"too many replicas", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, replicas: 501}}", "spec.replicas"},
		{"an empty template", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: ''}}", "spec.template"},
		{"a name that leaves no room for an ordinal", member, "VmGroup", "{metadata: {name: " + long + ", namespace: default}, spec: {cpu: 1, memory: 1, template: t}}", "at most 63 characters"},
		{"an unknown clone mode", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, cloneMode: Instant}}", "spec.cloneMode"},
		// Numbers and percentages.
		{"numbers in an update strategy", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {maxSurge: 0, maxUnavailable: 500}, repair: {maxUnhealthy: 0}}}", ""},
		{"an update strategy of defaults", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {}}}", ""},
		{"a percentage as maxSurge", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {maxSurge: '25%'}}}", ""},
		{"too large a percentage as maxSurge", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {maxSurge: '101%'}}}", "maxSurge must be a whole number"},
		{"an update that may do nothing", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {maxSurge: 0, maxUnavailable: 0}}}", "must not both be 0"},
		{"an update without more VMs that says nothing else", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {maxSurge: 0}}}", "must not both be 0"},
		{"a number in quotes as maxSurge", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {maxSurge: '25'}}}", "maxSurge must be a whole number"},
		{"too large a maxSurge", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {maxSurge: 501}}}", "maxSurge must be a whole number"},
		{"a percentage as maxUnavailable", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {maxUnavailable: '25%'}}}", ""},
		{"a number in quotes as maxUnavailable", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {maxUnavailable: '25'}}}", "maxUnavailable must be a whole number"},
		{"too large a maxUnavailable", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, updateStrategy: {maxUnavailable: 501}}}", "maxUnavailable must be a whole number"},
		{"a percentage as maxUnhealthy", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, repair: {maxUnhealthy: '25%'}}}", ""},
		{"too large a percentage as maxUnhealthy", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, repair: {maxUnhealthy: '101%'}}}", "maxUnhealthy must be a whole number"},
		{"a number in quotes as maxUnhealthy", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, repair: {maxUnhealthy: '25'}}}", "maxUnhealthy must be a whole number"},
		{"a maxUnhealthy below zero", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 1, memory: 1, template: t, repair: {maxUnhealthy: -1}}}", "maxUnhealthy must be a whole number"},
		{"CPUs that fill their sockets", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 4, coresPerSocket: 2, memory: 1, template: t}}", ""},
		{"CPUs that fill no socket", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 3, coresPerSocket: 2, memory: 1, template: t}}", "spec.coresPerSocket: Invalid value"},
		{"a root disk", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 4, memory: 1, template: t, cloneMode: LinkedPreferred, disks: {root: {sizeGiB: 40}}}}", ""},
		{"a root disk of no size", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 4, memory: 1, template: t, disks: {root: {sizeGiB: 0}}}}", "spec.disks.root.sizeGiB"},
		{"a root disk of a linked clone", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 4, memory: 1, template: t, cloneMode: Linked, disks: {root: {sizeGiB: 40}}}}", "set cloneMode to Full, or to LinkedPreferred"},
		{"data disks", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 4, memory: 1, template: t, cloneMode: Linked, disks: {data: [{name: a, sizeGiB: 40}, {name: b-1, sizeGiB: 1, provisioning: EagerlyZeroed}]}}}", ""},
		{"two data disks of one name", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 4, memory: 1, template: t, disks: {data: [{name: a, sizeGiB: 40}, {name: a, sizeGiB: 41}]}}}", "Duplicate value"},
		{"a data disk without a size", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 4, memory: 1, template: t, disks: {data: [{name: a}]}}}", "spec.disks.data[0].sizeGiB"},
		{"a data disk whose name is no label", member, "VmGroup", "{metadata: {name: x, namespace: default}, spec: {cpu: 4, memory: 1, template: t, disks: {data: [{name: 'a:b', sizeGiB: 1}]}}}", "spec.disks.data[0].name"},
		// The hub's kinds.
		{"a VCenter", hub, "VCenter", "{metadata: {name: x}, spec: {server: https://vc, credentialsSecretRef: {name: s}}}", ""},
		{"a VCenter with the path that a vCenter has", hub, "VCenter", "{metadata: {name: x}, spec: {server: 'HTTPS://[fd00::1]:8443/sdk/', credentialsSecretRef: {name: s}}}", ""},
		{"a VCenter with another path", hub, "VCenter", "{metadata: {name: x}, spec: {server: https://vc/sdk/../vpn, credentialsSecretRef: {name: s}}}", "the path /sdk only"},
		{"a VCenter with two kinds of trust", hub, "VCenter", "{metadata: {name: x}, spec: {credentialsSecretRef: {name: s}, tls: {thumbprint: 'AA', insecureSkipVerify: true}}}", "set only one of"},
		{"a grant for no member", hub, "VCenter", "{metadata: {name: x}, spec: {credentialsSecretRef: {name: s}, grants: [{memberClusters: []}]}}", "memberClusters"},
		{"a MemberCluster", hub, "MemberCluster", "{metadata: {name: x}, spec: {kubeconfigSecretRef: {name: s}}}", ""},
		{"a MemberCluster without a kubeconfig", hub, "MemberCluster", "{metadata: {name: x}, spec: {}}", "kubeconfigSecretRef is required"},
		{"the hub itself", hub, "MemberCluster", "{metadata: {name: local}, spec: {}}", ""},
		{"the hub itself with a kubeconfig", hub, "MemberCluster", "{metadata: {name: local}, spec: {kubeconfigSecretRef: {name: s}}}", "only for the member named local"},
		{"a MemberCluster with a long name", hub, "MemberCluster", "{metadata: {name: " + long[:41] + "}, spec: {kubeconfigSecretRef: {name: s}}}", "at most 40 characters"},
		{"a policy", hub, "VmGroupPolicy", "{metadata: {name: x}, spec: {limits: {cpu: {min: 1, max: 4}, memory: {min: 1Gi, max: 8Gi}}}}", ""},
		{"a policy that allows nothing", hub, "VmGroupPolicy", "{metadata: {name: x}, spec: {limits: {cpu: {min: 5, max: 4}}}}", "min must not exceed max"},
		{"a policy that allows no memory", hub, "VmGroupPolicy", "{metadata: {name: x}, spec: {limits: {memory: {min: 9Gi, max: 8192Mi}}}}", "min must not exceed max"},
	} {
		t.Run(c.story, func(t *testing.T) {
			err := c.cluster.Create(t.Context(), object(t, c.kind, c.content), client.DryRunAll)
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("got %v, want a refusal that says %q", err, c.refused)
			}
		})
	}
}

func TestVCenterIsImmutableOnceSet(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "immutable")
	p.apply(p.group("vg", 1, func(g *v1alpha1.VmGroup) { g.Spec.VCenter = "nowhere" }))
	for patch, refused := range map[string]bool{
		`{"spec":{"vcenter":"default"}}`: true,
		`{"spec":{"vcenter":"nowhere"}}`: false,
		`{"spec":{"cpu":2}}`:             false,
	} {
		err := p.cluster.Patch(t.Context(), p.group("vg", 0), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
		if (err != nil) != refused {
			t.Errorf("%s: %v, want refused: %v", patch, err, refused)
		}
	}
	// Without a value the CRD rejects it, unless the policy that the operator installs soon fills in the group's
	// former value.
	without := p.group("vg", 0)
	err := p.cluster.Patch(t.Context(), without, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"vcenter":null}}`)), client.DryRunAll)
	if err == nil && without.Spec.VCenter != "nowhere" {
		t.Errorf("a group was moved to VCenter %q", without.Spec.VCenter)
	}
}

// TestAnUnseenGroupIsNotReadyYet checks the default of the Ready condition: without it, `kubectl wait` and kstatus
// would treat an object that was never reconciled as done.
func TestAnUnseenGroupIsNotReadyYet(t *testing.T) {
	w := calm.enter(t)
	for _, content := range []string{
		"{metadata: {name: unseen, namespace: default}, spec: {cpu: 1, memory: 1, template: t}}",
		"{metadata: {name: unseen, namespace: default}, spec: {cpu: 1, memory: 1, template: t}, status: {phase: RUNNING}}",
	} {
		o := object(t, "VmGroup", content)
		if err := w.Members["team-a"].Create(t.Context(), o, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		if len(conditions) != 1 {
			t.Fatalf("status.conditions is %v, want Ready=Unknown", conditions)
		}
		ready := conditions[0].(map[string]any)
		if ready["type"] != "Ready" || ready["status"] != "Unknown" {
			t.Errorf("the condition is %v, want Ready=Unknown", ready)
		}
	}
}

// The column CURRENT of a group without VMs was empty: a merge patch does not write a zero over a missing value.
func TestTheCountsOfAGroupWithoutVMsAreZeroAndNotAbsent(t *testing.T) {
	w := calm.enter(t)
	o := object(t, "VmGroup", "{metadata: {name: unseen, namespace: default}, spec: {cpu: 1, memory: 1, template: t}}")
	if err := w.Members["team-a"].Create(t.Context(), o, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	for _, count := range []string{"currentReplicas", "desiredReplicas", "replicas", "readyReplicas", "updatedReplicas"} {
		if got, found, err := unstructured.NestedInt64(o.Object, "status", count); got != 0 || !found || err != nil {
			t.Errorf("status.%s is %d, found %v, %v; want 0", count, got, found, err)
		}
	}
}

func TestColumnsKeepTheOrderOfTheOriginals(t *testing.T) {
	w := calm.enter(t)
	client, err := rest.HTTPClientFor(w.Members["team-a"].Config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		w.Members["team-a"].Config.Host+"/apis/vm.codeconnect.vmworld.com/v1alpha1/vmgroups", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var table struct {
		ColumnDefinitions []struct {
			Name     string
			Priority int
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&table); err != nil {
		t.Fatal(err)
	}
	var narrow []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			narrow = append(narrow, column.Name)
		}
	}
	if want := []string{"Name", "Phase", "Current", "Desired", "CPU", "Memory", "Template", "Ready", "Age", "Last_Message"}; !slices.Equal(narrow, want) {
		t.Errorf("kubectl get vg shows %v, want %v", narrow, want)
	}
	originals := slices.DeleteFunc(narrow, func(name string) bool { return name == "Ready" || name == "Age" })
	if want := []string{"Name", "Phase", "Current", "Desired", "CPU", "Memory", "Template", "Last_Message"}; !slices.Equal(originals, want) {
		t.Errorf("the original's columns are shown as %v, want %v", originals, want)
	}
}

func TestAnObjectWithoutASpecSaysSoAndGetsNothing(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-b", "no-spec")
	o := object(t, "VmGroup", "{metadata: {name: empty, namespace: no-spec}}")
	if err := p.cluster.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	g := p.untilSays("empty", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonInvalidSpec, "spec")
	if g.Status.DesiredReplicas != 0 || len(g.Status.VMs) != 0 {
		t.Errorf("it wants %d VMs and has %v", g.Status.DesiredReplicas, g.Status.VMs)
	}
	p.delete("empty")
	p.untilGone("empty")
}
