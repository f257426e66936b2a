//go:build unix && !fast

package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	sharding "github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

func TestShardsNamesTheHolderOfAGroup(t *testing.T) {
	b := newBench(t)
	served := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "sharded"}, Spec: v1alpha1.MemberClusterSpec{KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "sharded"}}}
	unserved := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "unserved"}, Spec: v1alpha1.MemberClusterSpec{KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "unserved"}}}
	b.make(b.hub, served)
	b.make(b.hub, unserved)
	served.Status.ClusterUID = "6c1e9b"
	b.must(b.hub.Status().Update(t.Context(), served))

	out, err := b.run("shards", "--of", "shop/web", "--member", "sharded")
	if ExitCode(err) != cluster.ExitNotWell || !strings.Contains(out, "no shard map yet") {
		t.Errorf("without a shard map: exit code %d, error %v, output\n%s", ExitCode(err), err, out)
	}

	settings := ring.Settings{Buckets: 2, Hash: ring.HashName, Validity: 8 * time.Second, Patience: 12 * time.Second}
	replica, err := sharding.New(b.servers.hub.Config, sharding.Options{Namespace: operatorNamespace})
	b.must(err)
	t.Cleanup(func() {
		b.must(b.hub.DeleteAllOf(context.Background(), &coordinationv1.Lease{}, client.InNamespace(operatorNamespace)))
		b.must(b.hub.DeleteAllOf(context.Background(), &corev1.ConfigMap{}, client.InNamespace(operatorNamespace)))
	})
	const session = "0f6f1f0e-6c1f-4e6b-9df0-5a0d2f1c7c11"
	lock := ring.Lock{Holder: session, Number: 1}
	for _, op := range []protocol.Op{
		protocol.CreateSession{Lease: protocol.Lease{Session: session, Boot: "b", Host: "pod-a", State: protocol.Ready, Settings: settings, Renewals: 1}},
		protocol.CreateRing{Ring: ring.Ring{Settings: settings, Generation: 1, Rebuilt: 1, Sequence: 1, Leader: lock, Buckets: []ring.Lock{lock, lock}}},
	} {
		if result := replica.Do(t.Context(), op); result.Outcome != protocol.Done {
			t.Fatalf("%T: %s %v", op, result.Outcome, result.Err)
		}
	}
	out, err = b.run("shards", "--of", "shop/web", "--member", "sharded")
	if err != nil || !strings.Contains(out, "held by pod-a (session "+session+", ready)\nREPLICA ") || !strings.Contains(out, "2         yes ") {
		t.Errorf("error %v, output\n%s", err, out)
	}

	for _, wrong := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--of", "shop", "--member", "sharded"}, cluster.ExitUsage, "NAMESPACE/NAME"},
		{[]string{"--of", "shop/web"}, cluster.ExitUsage, "member"},
		{[]string{"--of", "shop/web", "--member", "none"}, cluster.ExitUsage, `no MemberCluster "none"`},
		{[]string{"--of", "shop/web", "--member", "unserved"}, cluster.ExitNotWell, "does not serve member"},
	} {
		if _, err := b.run(append([]string{"shards"}, wrong.args...)...); ExitCode(err) != wrong.code || !strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%v: exit code %d, error %v", wrong.args, ExitCode(err), err)
		}
	}
	b.context("stranger", b.user(b.servers.hub, "stranger"))
	b.file.CurrentContext = "stranger"
	if _, err := b.run("shards"); ExitCode(err) != cluster.ExitUnreachable || !strings.Contains(err.Error(), "lacks a right") {
		t.Errorf("a user without rights: exit code %d, error %v", ExitCode(err), err)
	}
}
