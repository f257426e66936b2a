//go:build unix

package command

import (
	"context"
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/crds"
)

func apply(ctx context.Context, hub client.Client, out *strings.Builder) error {
	return crds.Apply(ctx, hub, out)
}

func remove(ctx context.Context, hub client.Client, out *strings.Builder) error {
	return crds.Remove(ctx, hub, out)
}

func storedCRD(t *testing.T, admin client.Client, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: name}, definition); err != nil {
		t.Fatal(err)
	}
	return definition
}

// editCRD changes a CRD as Helm would. The API server writes its status at the same time.
func editCRD(t *testing.T, admin client.Client, name string, change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var definition *apiextensionsv1.CustomResourceDefinition
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		definition = storedCRD(t, admin, name)
		change(definition)
		return admin.Update(t.Context(), definition, client.FieldOwner("helm"))
	}); err != nil {
		t.Fatal(err)
	}
	return definition
}

const policyCRD = "vmgrouppolicies.vm.codeconnect.vmworld.com"

func TestCRDsCommandLine(t *testing.T) {
	for _, args := range [][]string{nil, {"frobnicate"}, {"--timeout=1s"}} {
		if err := run(t.Context(), append([]string{"crds"}, args...), &strings.Builder{}); !errors.Is(err, errCRDsCommand) {
			t.Errorf("manager crds %v: %v", args, err)
		}
	}
}
