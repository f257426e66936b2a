//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// uninstalledAndAdopted: without the release the VMs run and nothing is deleted; installed again, the operator
// continues with the same VMs.
func uninstalledAndAdopted(t *testing.T) {
	untilFulfilled(t)
	before := identities(t)
	uninstall(t)
	for _, member := range world.members {
		// Users can continue: the operator fulfills their requests once it is back.
		must(t, scale(t.Context(), member, groupName(0), mostVMs))
	}
	unchanged(t, before, "the release was uninstalled")
	// The CRDs are those of a later version by now, and this version's do not replace them.
	_, err := world.helm.upgrade(t.Context(), world.this.chart, world.this.values, "--skip-crds")
	must(t, err)
	untilThreeReady(t)
	untilJoined(t)
	untilFulfilled(t)
	unchanged(t, before, "the release was installed again")
	oneAtATime(t)
}

// uninstall uninstalls the release and waits until no Pod is left. First it sets the members' webhooks to Ignore, as
// documented: with Fail, no user could change a group without an operator.
func uninstall(t *testing.T) {
	t.Helper()
	for _, member := range world.members {
		mc := &v1alpha1.MemberCluster{ObjectMeta: named(member.Name)}
		must(t, world.hub.Patch(t.Context(), mc, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"admission":{"failurePolicy":"Ignore"}}}`))))
	}
	for _, member := range world.members {
		await.Until(t, member.Name+" to ignore a hub that does not answer", func(ctx context.Context) (bool, error) {
			return ignoresTheHub(ctx, member)
		})
	}
	uninstallRelease(t, release)
}

// uninstallRelease uninstalls a release and waits until no Pod is left.
func uninstallRelease(t *testing.T, name string) {
	t.Helper()
	world.uninstalled = append(world.uninstalled, time.Now())
	out, err := world.helm.run(t.Context(), "uninstall", name, "--wait", "--timeout="+helmPatience)
	must(t, err)
	world.heard(out)
	await.Until(t, "the Pods to go", func(ctx context.Context) (bool, error) {
		list := &corev1.PodList{}
		err := world.hub.List(ctx, list, client.InNamespace(namespace))
		return len(list.Items) == 0, err
	})
	world.gone = append(world.gone, time.Now())
}

// aMemberLeaves and rejoins: in between, it is an ordinary cluster.
func aMemberLeaves(t *testing.T) {
	member := world.members[1]
	mc := &v1alpha1.MemberCluster{}
	must(t, world.hub.Get(t.Context(), client.ObjectKey{Name: member.Name}, mc))
	before := identities(t)
	if err := world.hub.Delete(t.Context(), mc.DeepCopy()); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), string(mc.UID)) {
		t.Errorf("a member with groups leaves without a confirmation: %v", err)
	}
	confirmed := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ConfirmDeletionAnnotation, mc.UID)
	must(t, world.hub.Patch(t.Context(), mc.DeepCopy(), client.RawPatch("application/merge-patch+json", confirmed)))
	must(t, world.hub.Delete(t.Context(), mc.DeepCopy()))
	await.Until(t, member.Name+" to leave", func(ctx context.Context) (bool, error) {
		err := world.hub.Get(ctx, client.ObjectKey{Name: member.Name}, &v1alpha1.MemberCluster{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	tooLarge := newGroup("too-large", 1)
	tooLarge.Spec.CPU = 64
	// The API server can apply the former admission for a moment longer than it exists.
	await.Until(t, member.Name+" to let people do what they like", func(ctx context.Context) (bool, error) {
		err := member.Create(ctx, tooLarge.DeepCopy(), client.DryRunAll)
		return err == nil, err
	})
	must(t, member.Create(t.Context(), tooLarge))
	must(t, member.Delete(t.Context(), tooLarge))
	unchanged(t, before, member.Name+" left")
	must(t, world.hub.Create(t.Context(), &v1alpha1.MemberCluster{ObjectMeta: named(mc.Name), Spec: mc.Spec}))
	untilJoined(t)
	must(t, scaleAll(t.Context()))
	untilFulfilled(t)
	oneAtATime(t)
}

// identities are the VMs in vCenter by path, with a unique identity.
func identities(t *testing.T) map[string]string {
	t.Helper()
	vms, err := world.person.VMs(t.Context())
	must(t, err)
	all := map[string]string{}
	for path, vm := range vms {
		if strings.HasPrefix(path, "/DC0/vm/vm-operator/") {
			all[path] = vm.Ref.Value
		}
	}
	return all
}

// unchanged fails for each VM that does not exist any more or is another one.
func unchanged(t *testing.T, before map[string]string, since string) {
	t.Helper()
	now := identities(t)
	for path, vm := range before {
		if now[path] != vm {
			t.Errorf("since %s, %s is %q, and was %q", since, path, now[path], vm)
		}
	}
	for _, member := range world.members {
		groups := &v1alpha1.VmGroupList{}
		must(t, member.List(t.Context(), groups))
		if len(groups.Items) != groupsPerMember {
			t.Errorf("since %s, %s has %d VmGroups, want %d", since, member.Name, len(groups.Items), groupsPerMember)
		}
	}
}

// installedByKustomize is the way without Helm: config/default takes over from the release.
func installedByKustomize(t *testing.T) {
	before := identities(t)
	uninstall(t)
	directory := filepath.Join(world.dir, "kustomize")
	must(t, os.MkdirAll(directory, 0o755))
	copied, err := exec.CommandContext(t.Context(), "cp", "-r", filepath.Join(world.root, "config"), directory).CombinedOutput()
	if err != nil {
		t.Fatalf("copy config: %v: %s", err, copied)
	}
	name, tag, _ := strings.Cut(world.this.image, ":")
	kustomization := "resources: [config/default]\nimages: [{name: vmgroup-operator, newName: " + name + ", newTag: " + tag + "}]\n"
	must(t, os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(kustomization), 0o600))
	must(t, world.applyDirectory(t.Context(), world.hub.cluster, directory))
	untilRolledOut(t, "vmgroup-operator")
	await.Until(t, "three replicas to share the groups", func(context.Context) (bool, error) {
		shares := world.observer.Timeline().Shares()
		return len(shares) == 3 && shares[""] == 0, nil
	})
	must(t, scaleAll(t.Context()))
	untilFulfilled(t)
	for path, vm := range before {
		if now := identities(t)[path]; now != "" && now != vm {
			t.Errorf("%s is %s, and was %s", path, now, vm)
		}
	}
	oneAtATime(t)
}

// ignoresTheHub reports whether no webhook of the operator's in a member has the failure policy Fail.
func ignoresTheHub(ctx context.Context, member *stack.Cluster) (bool, error) {
	key := client.ObjectKey{Name: "vmgroup-operator"}
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := errors.Join(member.Get(ctx, key, mutating), member.Get(ctx, key, validating)); err != nil {
		return false, err
	}
	for _, hook := range mutating.Webhooks {
		if *hook.FailurePolicy != admissionregistrationv1.Ignore {
			return false, nil
		}
	}
	for _, hook := range validating.Webhooks {
		if *hook.FailurePolicy != admissionregistrationv1.Ignore {
			return false, nil
		}
	}
	return true, nil
}
