//go:build unix

// Package original replays objects of the original operator's users against its CRD and this operator's. It tests which
// are accepted, how they are listed, and their fate when the CRD is upgraded.
package original

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	admissionobjects "github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

var (
	//go:embed testdata/crd.yaml
	originalCRD []byte
	//go:embed testdata/objects.yaml
	objects []byte
)

// object is one row of objects.yaml.
type object struct {
	Name string `json:"name"`
	// Spec as written; nil when there is none.
	Spec any `json:"spec"`
	// Phase that the original set; empty for a rejected object.
	Phase string `json:"phase"`
	// Differs is why this operator's verdict on a new object differs; empty if it is the same.
	Differs string `json:"differs"`
}

func (o object) asked(namespace string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	u.SetNamespace(namespace)
	u.SetName(o.Name)
	if o.Spec != nil {
		u.Object["spec"] = o.Spec
	}
	return u
}

func TestObjectsOfTheOriginalOperator(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	plane := localcluster.ForTest(t, "original")
	scheme := allkinds.Scheme()
	c, err := client.New(plane.Config, client.Options{Scheme: scheme, Mapper: kinds()})
	if err != nil {
		t.Fatal(err)
	}
	var rows []object
	if err := yaml.Unmarshal(objects, &rows); err != nil {
		t.Fatal(err)
	}

	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(originalCRD, definition); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(ctx, definition); err != nil {
		t.Fatal(err)
	}
	served(ctx, t, c, "disk")
	accepted := store(ctx, t, c, rows)
	columns, before := table(ctx, t, plane.Config)

	// The operator's changes to a member that has the original's CRD. The API server writes to its status in that time.
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return err
		}
		ours := crd.VmGroupCRD()
		definition.Spec, definition.Annotations = ours.Spec, ours.Annotations
		return c.Update(ctx, definition)
	}); err != nil {
		t.Fatal(err)
	}
	served(ctx, t, c, "cloneMode")

	t.Run("are listed as before", func(t *testing.T) {
		var newColumns []string
		var after map[string][]any
		// The API server stops serving a changed CRD for a moment.
		await.Until(t, "a table", func(context.Context) (bool, error) {
			newColumns, after = table(ctx, t, plane.Config)
			return len(newColumns) > 0, nil
		})
		kept := places(columns, newColumns)
		if len(columns) != 8 || len(kept) != len(columns) {
			t.Fatalf("the original shows the columns %v; %v has not the same in the same order", columns, newColumns)
		}
		for name, cells := range before {
			for i, cell := range cells {
				if now := after[name][kept[i]]; fmt.Sprint(now) != fmt.Sprint(cell) {
					t.Errorf("%s has %v in column %s, had %v", name, now, columns[i], cell)
				}
			}
		}
	})
	admission(ctx, t, c)
	t.Run("are read and can be edited", func(t *testing.T) { readAndEdit(ctx, t, c, rows, accepted) })
	t.Run("meet the same verdict", func(t *testing.T) {
		for _, o := range rows {
			err := c.Create(ctx, o.asked("fresh"), client.DryRunAll)
			if same := (err == nil) == accepted[o.Name]; same != (o.Differs == "") {
				t.Errorf("%s: accepted by the original: %v; this operator says %v; differs: %q", o.Name, accepted[o.Name], err, o.Differs)
			}
		}
	})
}

// places returns the positions of the original's columns among the current ones, as far as they have the same order.
func places(originals, now []string) []int {
	var at []int
	for i, name := range now {
		if len(at) < len(originals) && name == originals[len(at)] {
			at = append(at, i)
		}
	}
	return at
}

// store creates every object with the original's CRD, with the status that the original would have left, and returns
// the accepted ones.
func store(ctx context.Context, t *testing.T, c client.Client, rows []object) map[string]bool {
	t.Helper()
	accepted := map[string]bool{}
	for _, o := range rows {
		asked := o.asked("default")
		err := c.Create(ctx, asked)
		accepted[o.Name] = err == nil
		if (err == nil) != (o.Phase != "") {
			t.Errorf("%s: the original's CRD says %v; testdata has phase %q", o.Name, err, o.Phase)
		}
		if err != nil {
			continue
		}
		asked.Object["status"] = map[string]any{
			"phase": o.Phase, "currentReplicas": int64(1), "desiredReplicas": int64(1), "lastMessage": "as the original left it",
		}
		if err := c.Status().Update(ctx, asked); err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
	}
	return accepted
}

// readAndEdit checks that the original's objects are read unchanged, and can be labeled.
func readAndEdit(ctx context.Context, t *testing.T, c client.Client, rows []object, accepted map[string]bool) {
	t.Helper()
	for _, o := range rows {
		if !accepted[o.Name] {
			continue
		}
		stored := o.asked("default")
		if err := c.Get(ctx, client.ObjectKeyFromObject(stored), stored); err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		var typed v1alpha1.VmGroup
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &typed); err != nil {
			t.Errorf("%s: %v", o.Name, err)
		}
		if string(typed.Status.Phase) != o.Phase {
			t.Errorf("%s has phase %q, want %q", o.Name, typed.Status.Phase, o.Phase)
		}
		label := []byte(`{"metadata":{"labels":{"team":"a"}}}`)
		if err := c.Patch(ctx, stored, client.RawPatch("application/merge-patch+json", label)); err != nil {
			t.Errorf("%s takes no label any more: %v", o.Name, err)
		}
	}
}

// kinds are the kinds in the test. Discovery forgets a kind for a moment when another of its group is added.
func kinds() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("VmGroup"), meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	mapper.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	for _, known := range admissionobjects.Known() {
		mapper.AddSpecific(known.GroupVersionKind, known.GroupVersion().WithResource(known.Resource),
			known.GroupVersion().WithResource(known.Resource), meta.RESTScopeRoot)
	}
	return mapper
}

// admission installs in the cluster the operator's admission for a member without policies.
func admission(ctx context.Context, t *testing.T, c client.Client) {
	t.Helper()
	limitsCRD := crd.VmGroupLimitsCRD()
	if err := c.Create(ctx, limitsCRD); err != nil {
		t.Fatal(err)
	}
	limits, err := admissionobjects.Compile(nil, "member")
	if err != nil {
		t.Fatal(err)
	}
	// A policy of the probe's namespace shows when the API server fills in omitted values; it applies to no other.
	limits.Policies = []v1alpha1.LimitsPolicy{{
		Name:     "probe",
		Selector: []v1alpha1.LimitsRequirement{{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: []string{"probe"}}},
		Defaults: v1alpha1.PolicyDefaults{Memory: 1},
	}}
	bundle, err := admissionobjects.Render(admissionobjects.Input{
		Limits: limits, Member: "member", Exempt: []string{"the-operator"}, ServesMutatingPolicies: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range bundle.Objects {
		await.Until(t, "apply "+o.GetKind(), func(context.Context) (bool, error) {
			err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(admissionobjects.FieldManager))
			return err == nil, err
		})
	}
	for _, name := range []string{"fresh", "probe"} {
		namespace := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
		namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
		if err := c.Create(ctx, namespace); err != nil {
			t.Fatal(err)
		}
	}
	tooMuch := object{Name: "probe", Spec: map[string]any{
		"cpu": int64(5), "memory": int64(1), "replicas": int64(1), "template": "t",
	}}
	await.Until(t, "the policies to be in force", func(context.Context) (bool, error) {
		err := c.Create(ctx, tooMuch.asked("fresh"), client.DryRunAll)
		if apierrors.IsInvalid(err) {
			return true, nil
		}
		return false, err
	})
	incomplete := object{Name: "probe", Spec: map[string]any{"cpu": int64(1), "replicas": int64(1), "template": "t"}}
	// A MutatingAdmissionPolicy does not know a CRD that has just changed, and then rejects all requests regardless of
	// its failure policy. It becomes effective automatically: an earlier success proves nothing.
	await.Until(t, "the policies to know the CRD", func(context.Context) (bool, error) {
		err := c.Create(ctx, incomplete.asked("probe"), client.DryRunAll)
		return err == nil, err
	})
}

// served waits until the API server knows field of a VmGroup's spec, or prunes it if it does not exist.
func served(ctx context.Context, t *testing.T, c client.Client, field string) {
	t.Helper()
	await.Until(t, "a CRD with field "+field, func(context.Context) (bool, error) {
		probe := object{Name: "probe", Spec: map[string]any{
			"cpu": int64(1), "memory": int64(1), "replicas": int64(1), "template": "t", field: "Full",
		}}.asked("default")
		err := c.Create(ctx, probe, client.DryRunAll)
		_, kept, _ := unstructured.NestedString(probe.Object, "spec", field)
		return err == nil && kept == (field == "cloneMode"), err
	})
}

// table requests a table like kubectl, and returns the columns without -o wide, and the cells by name.
func table(ctx context.Context, t *testing.T, config *rest.Config) (columns []string, cells map[string][]any) {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	url := config.Host + "/apis/vm.codeconnect.vmworld.com/v1alpha1/namespaces/default/vmgroups"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := httpClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		ColumnDefinitions []struct {
			Name     string
			Priority int
		}
		Rows []struct{ Cells []any }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	for _, column := range answer.ColumnDefinitions {
		if column.Priority == 0 {
			columns = append(columns, column.Name)
		}
	}
	cells = map[string][]any{}
	for _, row := range answer.Rows {
		cells[fmt.Sprint(row.Cells[0])] = row.Cells[:len(columns)]
	}
	return columns, cells
}
