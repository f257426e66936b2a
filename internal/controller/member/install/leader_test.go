package install

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

func TestWhatAReplicaThatDoesNotLeadMakesOfACRD(t *testing.T) {
	scheme := allkinds.Scheme()
	with := func(change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
		installed := crd.VmGroupCRD()
		installed.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
		}
		change(installed)
		return installed
	}
	for _, test := range []struct {
		story     string
		installed *apiextensionsv1.CustomResourceDefinition
		waits, ok bool
	}{
		{"none", nil, true, false},
		{"the same", with(func(*apiextensionsv1.CustomResourceDefinition) {}), false, true},
		{"an older one that serves", with(func(d *apiextensionsv1.CustomResourceDefinition) {
			d.Annotations[crd.VersionAnnotation] = "1"
		}), false, true},
		{"an older one that does not serve", with(func(d *apiextensionsv1.CustomResourceDefinition) {
			d.Annotations[crd.VersionAnnotation] = "1"
			d.Spec.Versions[0].Name = "v0"
		}), true, false},
		{"the original operator's", with(func(d *apiextensionsv1.CustomResourceDefinition) { d.Annotations = nil }), true, false},
		{"a foreign one", with(func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.Kind = "Other" }), false, false},
	} {
		t.Run(test.story, func(t *testing.T) {
			builder := clientfake.NewClientBuilder().WithScheme(scheme)
			if test.installed != nil {
				builder = builder.WithObjects(test.installed)
			}
			under := builder.Build()
			member := writing(under, func() bool { return false })
			result, err := EnsureCRD(t.Context(), member, crd.VmGroupCRD(), v1alpha1.ManageCRDsAndAdmission, time.Minute)
			if errors.Is(err, remote.ErrNotLeading) != test.waits || (err != nil && !test.waits) || result.Finding.OK != test.ok {
				t.Errorf("finding %+v, error %v", result.Finding, err)
			}
			after, err := crds.Get(t.Context(), under, crd.VmGroupName)
			if err != nil || (after == nil) != (test.installed == nil) {
				t.Fatalf("afterwards: %v, %v", after, err)
			}
			if after != nil && after.ResourceVersion != "999" {
				t.Errorf("the CRD was written: resource version %s", after.ResourceVersion)
			}
		})
	}
}

func TestWithoutLeadershipNothingIsWrittenToAMember(t *testing.T) {
	scheme := allkinds.Scheme()
	leads := false
	under := clientfake.NewClientBuilder().WithScheme(scheme).Build()
	member := writing(under, func() bool { return leads })
	ctx := context.Background()
	if err := TakeClaim(ctx, member, Claimant{Installation: "one", Hub: "hub"}); !errors.Is(err, remote.ErrNotLeading) {
		t.Errorf("taking the claim: %v", err)
	}
	leads = true
	if err := TakeClaim(ctx, member, Claimant{Installation: "one", Hub: "hub"}); err != nil {
		t.Fatal(err)
	}
	leads = false
	if err := TakeClaim(ctx, member, Claimant{Installation: "one", Hub: "hub"}); err != nil {
		t.Errorf("a claim that is ours already: %v", err)
	}
	if err := ReleaseClaim(ctx, member, "one"); !errors.Is(err, remote.ErrNotLeading) {
		t.Errorf("releasing the claim: %v", err)
	}
	var foreign *remote.Problem
	if err := TakeClaim(ctx, member, Claimant{Installation: "two", Hub: "hub"}); !errors.As(err, &foreign) || foreign.Reason != v1alpha1.ReasonClaimedByAnotherHub {
		t.Errorf("a foreign claim: %v", err)
	}
	if err := under.Get(ctx, claimKey, &corev1.ConfigMap{}); err != nil {
		t.Errorf("the claim was deleted: %v", err)
	}
}

// writing is a client whose writes fail like those of a [remote.API] while this replica cannot write. The tested code sends no other
// kinds of write.
func writing(under client.WithWatch, may func() bool) client.Client {
	return interceptor.NewClient(under, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			if !may() {
				return remote.ErrNotLeading
			}
			return c.Create(ctx, object, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			if !may() {
				return remote.ErrNotLeading
			}
			return c.Update(ctx, object, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			if !may() {
				return remote.ErrNotLeading
			}
			return c.Delete(ctx, object, opts...)
		},
	})
}
