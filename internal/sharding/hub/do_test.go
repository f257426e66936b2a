//go:build unix && !fast

package hub

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

func TestSessionsAreCreatedWrittenReadAndDeleted(t *testing.T) {
	f := newFixture(t, "sessions")
	c := newClient(t, f.config, Options{Namespace: f.namespace})
	lease := exampleLease("s1")

	created := must(t, c, protocol.CreateSession{Lease: lease}, protocol.Done)
	if diff := cmp.Diff(lease, created.Lease.Lease); diff != "" || created.Lease.Version == "" {
		t.Errorf("created at version %q (-want +got):\n%s", created.Lease.Version, diff)
	}
	must(t, c, protocol.CreateSession{Lease: lease}, protocol.Exists)

	lease.Renewals, lease.Published = 8, nil
	written := must(t, c, protocol.WriteSession{Lease: lease, Version: created.Lease.Version}, protocol.Done)
	if diff := cmp.Diff(lease, written.Lease.Lease); diff != "" || written.Lease.Version == created.Lease.Version {
		t.Errorf("written at version %q (-want +got):\n%s", written.Lease.Version, diff)
	}
	must(t, c, protocol.WriteSession{Lease: lease, Version: created.Lease.Version}, protocol.Conflict)
	read := must(t, c, protocol.ReadSession{Session: "s1"}, protocol.Done)
	if diff := cmp.Diff(written.Lease, read.Lease); diff != "" {
		t.Errorf("read something else than what was written last (-want +got):\n%s", diff)
	}

	must(t, c, protocol.DeleteSession{Session: "s1", Version: created.Lease.Version}, protocol.Conflict)
	must(t, c, protocol.DeleteSession{Session: "s1", Version: written.Lease.Version}, protocol.Done)
	must(t, c, protocol.DeleteSession{Session: "s1", Version: written.Lease.Version}, protocol.Missing)
	must(t, c, protocol.ReadSession{Session: "s1"}, protocol.Missing)
}

// A PUT of a Lease that does not exist creates it.
func TestARenewalDoesNotReviveADeletedSession(t *testing.T) {
	f := newFixture(t, "revival")
	c := newClient(t, f.config, Options{Namespace: f.namespace})
	created := must(t, c, protocol.CreateSession{Lease: exampleLease("s1")}, protocol.Done)
	must(t, c, protocol.DeleteSession{Session: "s1", Version: created.Lease.Version}, protocol.Done)
	must(t, c, protocol.WriteSession{Lease: exampleLease("s1"), Version: created.Lease.Version}, protocol.Missing)
	must(t, c, protocol.ReadSession{Session: "s1"}, protocol.Missing)
}

func TestTheRingIsCreatedWrittenAndRead(t *testing.T) {
	f := newFixture(t, "shards")
	c := newClient(t, f.config, Options{Namespace: f.namespace})
	must(t, c, protocol.ReadRing{}, protocol.Missing)
	must(t, c, protocol.WriteRing{Ring: exampleRing(), Version: "1"}, protocol.Missing)
	created := must(t, c, protocol.CreateRing{Ring: exampleRing()}, protocol.Done)
	must(t, c, protocol.CreateRing{Ring: exampleRing()}, protocol.Exists)

	next := exampleRing()
	next.Sequence++
	written := must(t, c, protocol.WriteRing{Ring: next, Version: created.Ring.Version}, protocol.Done)
	must(t, c, protocol.WriteRing{Ring: next, Version: created.Ring.Version}, protocol.Conflict)
	read := must(t, c, protocol.ReadRing{}, protocol.Done)
	if diff := cmp.Diff(written.Ring, read.Ring); diff != "" || read.Ring.Ring.Sequence != next.Sequence {
		t.Errorf("read something else than what was written last (-want +got):\n%s", diff)
	}
}

func TestAnEditedRingIsInvalidAndCanBeReplaced(t *testing.T) {
	f := newFixture(t, "edited")
	c := newClient(t, f.config, Options{Namespace: f.namespace})
	must(t, c, protocol.CreateRing{Ring: exampleRing()}, protocol.Done)
	edited, err := f.admin.CoreV1().ConfigMaps(f.namespace).Update(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: defaultRingName}, Data: map[string]string{"ring.json": "{"},
	}, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	read := must(t, c, protocol.ReadRing{}, protocol.Invalid)
	if invalid := (*ring.InvalidError)(nil); !errors.As(read.Err, &invalid) || read.Ring.Version != edited.ResourceVersion {
		t.Errorf("read %v at version %q, want an InvalidError at %q", read.Err, read.Ring.Version, edited.ResourceVersion)
	}
	must(t, c, protocol.WriteRing{Ring: exampleRing(), Version: read.Ring.Version}, protocol.Done)
}

func TestRefusals(t *testing.T) {
	f := newFixture(t, "refusals")
	c := newClient(t, f.config, Options{Namespace: f.namespace})
	elsewhere := newClient(t, cluster.Get(t).Config, Options{Namespace: "no-such-namespace"})
	nobody := newClient(t, cluster.Get(t).UserConfig(t, "without-rights"), Options{Namespace: f.namespace})
	stored := must(t, c, protocol.CreateSession{Lease: exampleLease("s1")}, protocol.Done).Lease.Version
	large := exampleLease("s2")
	large.Published = map[string]string{"large": strings.Repeat("x", maxPublished)}
	broken := exampleRing()
	broken.Buckets = nil
	frozen := true
	if _, err := f.admin.CoreV1().ConfigMaps(f.namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: defaultRingName}, Immutable: &frozen,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	immutable := must(t, c, protocol.ReadRing{}, protocol.Invalid).Ring.Version

	for name, test := range map[string]struct {
		client *Client
		op     protocol.Op
		want   protocol.Outcome
	}{
		"create a session without the namespace":   {elsewhere, protocol.CreateSession{Lease: exampleLease("s1")}, protocol.Refused},
		"create a shard map without the namespace": {elsewhere, protocol.CreateRing{Ring: exampleRing()}, protocol.Refused},
		"read a session without the namespace":     {elsewhere, protocol.ReadSession{Session: "s1"}, protocol.Missing},
		"read a shard map without the namespace":   {elsewhere, protocol.ReadRing{}, protocol.Missing},
		"write a session without the namespace": {
			elsewhere, protocol.WriteSession{Lease: exampleLease("s1"), Version: "1"}, protocol.Missing,
		},
		"create a session without rights": {nobody, protocol.CreateSession{Lease: exampleLease("s2")}, protocol.Refused},
		"write a session without rights": {
			nobody, protocol.WriteSession{Lease: exampleLease("s1"), Version: stored}, protocol.Refused,
		},
		"read a session without rights":       {nobody, protocol.ReadSession{Session: "s1"}, protocol.Refused},
		"delete a session without rights":     {nobody, protocol.DeleteSession{Session: "s1", Version: stored}, protocol.Refused},
		"read a shard map without rights":     {nobody, protocol.ReadRing{}, protocol.Refused},
		"create a session with a wrong name":  {c, protocol.CreateSession{Lease: exampleLease("Not A Name")}, protocol.Refused},
		"read a session that leads elsewhere": {c, protocol.ReadSession{Session: "../s1"}, protocol.Refused},
		"create a session with a large board": {c, protocol.CreateSession{Lease: large}, protocol.Refused},
		"write a session without a version":   {c, protocol.WriteSession{Lease: exampleLease("s1")}, protocol.Refused},
		"delete a session without a version":  {c, protocol.DeleteSession{Session: "s1"}, protocol.Refused},
		"write a shard map without a version": {c, protocol.WriteRing{Ring: exampleRing()}, protocol.Refused},
		"write an impossible shard map":       {c, protocol.WriteRing{Ring: broken, Version: immutable}, protocol.Refused},
		"write a shard map that is immutable": {c, protocol.WriteRing{Ring: exampleRing(), Version: immutable}, protocol.Refused},
	} {
		t.Run(name, func(t *testing.T) { must(t, test.client, test.op, test.want) })
	}
}

func TestAWriteKeepsWhatOthersPutOnALease(t *testing.T) {
	f := newFixture(t, "foreign")
	c := newClient(t, f.config, Options{Namespace: f.namespace, Labels: map[string]string{"team": "a"}})
	must(t, c, protocol.CreateSession{Lease: exampleLease("s1")}, protocol.Done)
	leases := f.admin.CoordinationV1().Leases(f.namespace)
	object, err := leases.Get(t.Context(), defaultPrefix+"s1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkShownLease(t, object)
	object.Annotations["another-writer/note"] = "kept"
	if object, err = leases.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	fenced := exampleLease("s1")
	fenced.State, fenced.FencedBy, fenced.Published = protocol.Fenced, "s2", nil
	must(t, c, protocol.WriteSession{Lease: fenced, Version: object.ResourceVersion}, protocol.Done)
	if object, err = leases.Get(t.Context(), object.Name, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	_, board := object.Annotations[publishedAnnotation]
	if object.Annotations["another-writer/note"] != "kept" || board || *object.Spec.HolderIdentity != "manager-0_s1" {
		t.Errorf("after the fencing the Lease is %+v", object)
	}
}

func checkShownLease(t *testing.T, object *coordinationv1.Lease) {
	t.Helper()
	if *object.Spec.HolderIdentity != "manager-0_s1" || *object.Spec.LeaseDurationSeconds != 13 || object.Spec.RenewTime == nil {
		t.Errorf("the spec of the Lease is %+v", object.Spec)
	}
	want := map[string]string{"team": "a", nameLabel: productName, componentLabel: sessionComponent}
	if diff := cmp.Diff(want, object.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
