package install

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// claimOf is a member with a claim of an installation, renewed at this time; without a claim if
// installation is empty.
func claimOf(t *testing.T, installation, renewed string, funcs interceptor.Funcs) client.Client {
	t.Helper()
	scheme := allkinds.Scheme()
	claim := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: claimKey.Namespace, Name: claimKey.Name},
		Data:       map[string]string{ClaimInstallationKey: installation, ClaimHubKey: "its hub"},
	}
	if renewed != "" {
		claim.Data[ClaimRenewTimeKey] = renewed
	}
	return clientfake.NewClientBuilder().WithScheme(scheme).WithObjects(claim).WithInterceptorFuncs(funcs).Build()
}

func dataOf(t *testing.T, member client.Client) map[string]string {
	t.Helper()
	claim := &corev1.ConfigMap{}
	if err := member.Get(t.Context(), claimKey, claim); err != nil {
		t.Fatal(err)
	}
	return claim.Data
}

func TestAClaimIsTakenOverOnlyFromAPredecessorThatShowsNoSignOfLife(t *testing.T) {
	for _, test := range []struct {
		story, holder, renewed, predecessor string
		says                                string // "" if it is taken over
	}{
		{"no predecessor is named", "old", "2026-01-02T01:00:00Z", "", "annotate this MemberCluster, and the VCenters of its groups, with vm.codeconnect.vmworld.com/predecessor=old"},
		{"another one is named", "old", "2026-01-02T01:00:00Z", "older", "predecessor=old"},
		{"it renewed its claim two hours ago", "old", "2026-01-02T10:00:00Z", "old", "is taken over at 2026-01-02T13:00:00Z"},
		{"its clock is ahead", "old", "2026-01-03T10:00:00Z", "old", "it lives"},
		{"it never renewed it", "old", "", "old", "has no time of renewal"},
		{"a user wrote a time by hand", "old", "yesterday", "old", "has no time of renewal"},
		{"a claim without a holder, and no predecessor is named", "", "2026-01-02T01:00:00Z", "", "The member is served by"},
		{"no sign of life for three hours", "old", "2026-01-02T09:00:00Z", "old", ""},
	} {
		t.Run(test.story, func(t *testing.T) {
			member := claimOf(t, test.holder, test.renewed, interceptor.Funcs{})
			err := TakeClaim(t.Context(), member, Claimant{Installation: "new", Hub: "our hub", Predecessor: test.predecessor, Now: noon})
			data := dataOf(t, member)
			if test.says == "" {
				if err != nil || data[ClaimInstallationKey] != "new" || data[ClaimHubKey] != "our hub" || data[ClaimRenewTimeKey] != "2026-01-02T12:00:00Z" {
					t.Errorf("claim %v, error %v", data, err)
				}
				return
			}
			var known *remote.Problem
			if !errors.As(err, &known) || !strings.Contains(known.Message, test.says) || data[ClaimInstallationKey] != test.holder {
				t.Errorf("claim %v, error %v; want %q", data, err, test.says)
			}
		})
	}
}

func TestOfTwoSuccessorsOneGetsTheClaim(t *testing.T) {
	var member client.Client
	raced := false
	member = claimOf(t, "old", "2026-01-02T01:00:00Z", interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if !raced {
				raced = true
				if err := TakeClaim(ctx, c, Claimant{Installation: "faster", Predecessor: "old", Now: noon}); err != nil {
					t.Fatal(err)
				}
			}
			return c.Update(ctx, o, opts...)
		},
	})
	err := TakeClaim(t.Context(), member, Claimant{Installation: "slower", Predecessor: "old", Now: noon})
	var known *remote.Problem
	if holder := dataOf(t, member)[ClaimInstallationKey]; !errors.As(err, &known) || holder != "faster" {
		t.Errorf("the claim is %s's, and the slower one gets error %v", holder, err)
	}
}

func TestAClaimIsRenewedOnceAnHourByItsHolderAlone(t *testing.T) {
	for _, test := range []struct{ story, holder, renewed, want string }{
		{"never renewed", "me", "", "2026-01-02T12:00:00Z"},
		{"59 minutes ago", "me", "2026-01-02T11:01:00Z", "2026-01-02T11:01:00Z"},
		{"an hour ago", "me", "2026-01-02T11:00:00Z", "2026-01-02T12:00:00Z"},
		{"in the future", "me", "2027-01-01T00:00:00Z", "2026-01-02T12:00:00Z"},
		{"another's", "other", "2026-01-01T11:00:00Z", "2026-01-01T11:00:00Z"},
	} {
		t.Run(test.story, func(t *testing.T) {
			member := claimOf(t, test.holder, test.renewed, interceptor.Funcs{})
			err := RenewClaim(t.Context(), member, Claimant{Installation: "me", Now: noon})
			if data := dataOf(t, member); err != nil || data[ClaimRenewTimeKey] != test.want || data[ClaimInstallationKey] != test.holder {
				t.Errorf("claim %v, error %v; want it renewed at %q", data, err, test.want)
			}
		})
	}
}
