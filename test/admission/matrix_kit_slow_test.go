//go:build unix && slow

package admission

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// cellLabel contains the cell of a namespace.
const cellLabel = "example.com/cell"

// cell is a namespace of a member. For each kind, one object is meant for it, which no other cell can use.
type cell struct {
	*place
	// name of the cell is also in the names of its objects.
	name string
}

// reference is a field by which a group names an object of a cell.
type reference struct {
	kind string
	// set makes a group name the cell's object.
	set func(spec *v1alpha1.VmGroupSpec, meant string)
	// refused is the text of a rejection.
	refused string
}

// references are the fields that grants apply to.
var references = []reference{
	{"vcenter", func(s *v1alpha1.VmGroupSpec, meant string) { s.VCenter = "matrix-" + meant }, "does not grant anything to namespace"},
	{"template", func(s *v1alpha1.VmGroupSpec, meant string) { s.Template = "template-" + meant }, "is not granted to namespace"},
	{"pool", func(s *v1alpha1.VmGroupSpec, meant string) {
		s.Placement = &v1alpha1.Placement{ResourcePool: "pool-" + meant}
	}, "is not granted to namespace"},
	{"datastore", func(s *v1alpha1.VmGroupSpec, meant string) {
		s.Placement = &v1alpha1.Placement{Datastore: "datastore-" + meant}
	}, "is not granted to namespace"},
	{"network", func(s *v1alpha1.VmGroupSpec, meant string) {
		s.Placement = &v1alpha1.Placement{Network: "network-" + meant}
	}, "is not granted to namespace"},
}

// matrix is three members with three namespaces each.
type matrix struct {
	t      *testing.T
	cells  []cell
	person *sim.Operator
}

// newMatrix creates the cells, their objects, and the policies that set references in groups without them.
func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{t: t}
	members := []string{"team-a", "team-b", "team-matrix"}
	joinMember(t, members[2])
	// The cells come after the VCenters, so that they are deleted before them.
	for _, member := range members {
		for i := range 3 {
			m.cells = append(m.cells, cell{name: fmt.Sprintf("%s-%d", member, i), place: &place{member: member}})
		}
	}
	m.makeVCenters()
	for i := range m.cells {
		c := &m.cells[i]
		c.place = newPlace(t, c.member, fmt.Sprintf("matrix-%d", i%3), map[string]string{cellLabel: c.name})
		m.makePolicy(*c)
	}
	return m
}

// grant grants a cell its objects.
func (c cell) grant() v1alpha1.Grant {
	return v1alpha1.Grant{
		MemberClusters:    []string{c.member},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{cellLabel: c.name}},
		Templates:         []string{"template-" + c.name}, ResourcePools: []string{"pool-" + c.name},
		Datastores: []string{"datastore-" + c.name}, Networks: []string{"network-" + c.name},
	}
}

// makeVCenters creates the VCenter "matrix", which all cells can use with their objects, and a VCenter for each cell
// that no other can use. The latter are only grants: no server is behind them.
func (m *matrix) makeVCenters() {
	m.t.Helper()
	ctx := m.t.Context()
	server, err := world.StartVCenter(ctx, "vcsim-matrix", sim.Options{Templates: []string{template}})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = server.Stop() })
	if m.person, err = sim.NewOperator(ctx, server.URL, sim.AdminUsername, sim.AdminPassword); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(m.person.Close)
	finder := find.NewFinder(m.person.Client())
	const defaultPool = "/DC0/host/DC0_C0/Resources"
	parent, err := finder.ResourcePool(ctx, defaultPool)
	if err != nil {
		m.t.Fatal(err)
	}
	newVCenter(m.t, "matrix", func(spec *v1alpha1.VCenterSpec) {
		spec.Server, spec.ResourcePool, spec.Grants = server.URL, defaultPool, nil
		for _, c := range m.cells {
			spec.Grants = append(spec.Grants, c.grant())
		}
	})
	for _, c := range m.cells {
		if err := m.person.AddTemplate(ctx, "/DC0/vm", "template-"+c.name); err != nil {
			m.t.Fatal(err)
		}
		if _, err := parent.Create(ctx, "pool-"+c.name, types.DefaultResourceConfigSpec()); err != nil {
			m.t.Fatal(err)
		}
		newVCenter(m.t, "matrix-"+c.name, func(spec *v1alpha1.VCenterSpec) {
			spec.Server, spec.Grants = "https://127.0.0.1:1", []v1alpha1.Grant{c.grant()}
		})
	}
	untilVCenterReady(m.t, "matrix")
}

// makePolicy sets the cell's objects in its groups without references.
func (m *matrix) makePolicy(c cell) {
	m.t.Helper()
	p := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "matrix-" + c.name}}
	p.Spec.Match = v1alpha1.PolicyMatch{
		MemberClusters: []string{c.member}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{cellLabel: c.name}},
	}
	p.Spec.Defaults = &v1alpha1.PolicyDefaults{VCenter: "matrix", Template: "template-" + c.name}
	if err := world.Hub.Create(m.t.Context(), p); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if err := world.Hub.Delete(context.Background(), p); err != nil {
			m.t.Error(err)
		}
	})
}

// naming is a group of the cell that names, by one reference, an object of a cell; all others are its own.
func (c cell) naming(r reference, meant string) *v1alpha1.VmGroup {
	return c.group(r.kind+"-of-"+meant, 1, func(g *v1alpha1.VmGroup) {
		g.Spec.VCenter, g.Spec.Template = "matrix", "template-"+c.name
		r.set(&g.Spec, meant)
	})
}

// known waits until the webhooks of both replicas know the cells, and the inventory of the VCenter.
func (m *matrix) known() {
	m.t.Helper()
	for i, c := range m.cells {
		other := m.cells[(i+1)%len(m.cells)]
		await.Until(m.t, "both webhooks to know "+c.name, func(ctx context.Context) (bool, error) {
			for range connections {
				for _, meant := range []cell{c, other} {
					message, err := ask(ctx, c.member, raw(c.namespace, "probe", map[string]any{
						"cpu": int64(1), "memory": int64(1), "replicas": int64(1), "vcenter": "matrix", "template": "template-" + meant.name,
					}))
					if err != nil || (message == "") != (meant.name == c.name) {
						return false, fmt.Errorf("%s: %q, %w", meant.name, message, err)
					}
				}
			}
			return true, nil
		})
	}
}

// allowUserData allows one member to use Secrets, and creates one in one of its namespaces.
func (m *matrix) allowUserData(owner cell) {
	m.t.Helper()
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: owner.member}}
	set := func(ctx context.Context, value v1alpha1.UserDataSecrets) error {
		patch := []byte(`{"spec": {"userDataSecrets": "` + string(value) + `"}}`)
		return world.Hub.Patch(ctx, mc, client.RawPatch(apitypes.MergePatchType, patch))
	}
	if err := set(m.t.Context(), v1alpha1.UserDataAllow); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if err := set(context.Background(), v1alpha1.UserDataDeny); err != nil {
			m.t.Error(err)
		}
	})
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.namespace, Name: "cloud-init"},
		Type:       v1alpha1.UserDataType,
		Data:       map[string][]byte{"userdata": []byte("#cloud-config\n")},
	}
	if err := owner.Create(m.t.Context(), secret); err != nil {
		m.t.Fatal(err)
	}
}

// exemptClient is a client of the member that bypasses its webhooks: it has the operator's name.
func exemptClient(t *testing.T, p *place) client.Client {
	t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := p.Get(t.Context(), client.ObjectKey{Name: objects.Name}, configuration); err != nil {
		t.Fatal(err)
	}
	for _, condition := range configuration.Webhooks[0].MatchConditions {
		if !strings.Contains(condition.Expression, "userInfo.username") {
			continue
		}
		if name := regexp.MustCompile(`\['([^']+)'`).FindStringSubmatch(condition.Expression); name != nil {
			return clientAs(t, p.Cluster, name[1])
		}
	}
	t.Fatalf("no username is exempt: %+v", configuration.Webhooks[0].MatchConditions)
	return nil
}
