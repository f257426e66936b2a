//go:build unix && slow

package failover

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	// rejectedFor is long enough for a second try of the wrong password. Sessions that do not know each other would
	// lock the account in the first second.
	rejectedFor = 130 * time.Second
	// servedWithin is the maximum time until all replicas use the right password. Another process can need the
	// processor as well.
	servedWithin = 20 * time.Second
)

// TestFailoverAWrongPasswordOfThreeReplicasAndThreeVCentersLocksNothing: the label of the Secret changes constantly,
// and a replica is killed and restarted. The right password comes after some minutes.
func TestFailoverAWrongPasswordOfThreeReplicasAndThreeVCentersLocksNothing(t *testing.T) {
	ctx, s := story(t)
	server, err := sim.Start(sim.Options{Username: "rejected", Password: "right"})
	s.must(err)
	t.Cleanup(server.Close)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: "rejected", Annotations: map[string]string{v1alpha1.VCenterHostsAnnotation: "127.0.0.1:*"}},
		StringData: map[string]string{"username": "rejected", "password": "wrong"},
	}
	s.must(s.Hub.Create(ctx, secret))
	vcenters := make([]*v1alpha1.VCenter, 0, 3)
	for i := range cap(vcenters) {
		vc := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("rejected-", i)}, Spec: v1alpha1.VCenterSpec{
			Server: server.URL, Folder: fmt.Sprint("rejected-", i), CredentialsSecretRef: v1alpha1.LocalObjectReference{Name: secret.Name},
			TLS: &v1alpha1.TLSConfig{InsecureSkipVerify: true},
		}}
		s.must(s.Hub.Create(ctx, vc))
		vcenters = append(vcenters, vc)
	}
	t.Cleanup(func() {
		for _, object := range []client.Object{vcenters[0], vcenters[1], vcenters[2], secret} {
			if err := s.Hub.Delete(context.Background(), object); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
	})
	says := func(conditionType string, status metav1.ConditionStatus) func() bool {
		return func() bool {
			for _, vc := range vcenters {
				if s.Hub.Get(ctx, client.ObjectKeyFromObject(vc), vc) != nil || !meta.IsStatusConditionPresentAndEqual(vc.Status.Conditions, conditionType, status) {
					return false
				}
			}
			return true
		}
	}
	s.until(ctx, "all VCenters to say that the login is rejected", says(v1alpha1.ConditionCredentialsValid, metav1.ConditionFalse))
	victim := s.Replicas[0]
	victim.Kill()
	for i := range int(rejectedFor / (10 * time.Second)) {
		if i == 3 {
			s.must(victim.Restart(ctx))
		}
		s.pass(ctx, 10*time.Second)
		s.must(s.Hub.Patch(ctx, secret, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"round":"%d"}}}`, i))))
	}
	s.must(s.Hub.Patch(ctx, secret, client.RawPatch("application/merge-patch+json", []byte(`{"stringData":{"password":"right"}}`))))
	changed := time.Now()
	s.until(ctx, "all VCenters to be ready", says(v1alpha1.ConditionReady, metav1.ConditionTrue))
	s.until(ctx, "all replicas to be logged in", func() bool {
		n, err := server.Sessions(ctx)
		return err == nil && n == len(vcenters)*replicaCount
	})
	took := time.Since(changed)
	rejected, locked := server.RejectedLogins()
	s.Logf("%d rejected logins in %s; served %s after the right password", rejected, rejectedFor, round(took))
	if locked > 0 || rejected > 2 || took > servedWithin {
		s.Errorf("%d rejected logins, locked %d times, served after %s", rejected, locked, took)
	}
	s.untilShared(ctx)
	s.end(ctx)
}
