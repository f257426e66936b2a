//go:build unix

package admission

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	// caseLabel limits the policies of a case to its own namespaces; tableLabel is on the namespaces of all.
	caseLabel, tableLabel = "example.com/case", "example.com/table"
	// keepFinalizer keeps a group that is being deleted.
	keepFinalizer = "example.com/table"
)

// scene is the whole table of policies in the shared stack at once: each case has separate policies and namespaces.
type scene struct {
	t      *testing.T
	cases  []policytest.Case
	marker *marker
	// asker sends the requests, warned collects their warnings.
	asker  client.Client
	warned *collector
	// fills reports whether the member fills in defaults without the hub.
	fills bool
}

// stageTable creates the table in the stack, and deletes it when the test ends. It returns when both members, and both
// replicas for each of them, know all of it.
func stageTable(t *testing.T) *scene {
	t.Helper()
	cases, err := policytest.Load()
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, marker: newMarker(t), fills: servesMutatingPolicies(t, world.Members["team-a"])}
	s.asker, s.warned = warningClient(t, world.Members["team-a"])
	unusable := 0
	for i, c := range cases {
		name := fmt.Sprintf("case-%03d", i+1)
		if refusesToParse(c) {
			// It applies wherever it can: only the names of namespaces can separate it from others.
			name = fmt.Sprintf("%c-case-%03d", 'u'+unusable, i+1)
			unusable++
		}
		s.cases = append(s.cases, renamed(c, name))
	}
	s.makeVCenters()
	t.Cleanup(s.removePolicies)
	s.makeNamespaces()
	s.makeGroups()
	s.makePolicies()
	s.marker.await(s.othersAreCounted)
	return s
}

func refusesToParse(c policytest.Case) bool {
	for _, p := range c.Policies {
		if _, err := metav1.LabelSelectorAsSelector(p.Match.NamespaceSelector); err != nil {
			return true
		}
	}
	return false
}

var (
	saysPolicy    = regexp.MustCompile(`VmGroupPolicy "`)
	saysNamespace = regexp.MustCompile(`in namespace "`)
)

// renamed is the case with unique names. The order of its policies stays. The hub, which is not a member here, is
// team-a.
func renamed(c policytest.Case, name string) policytest.Case {
	prefix := name + "-"
	rename := func(messages []string) (out []string) {
		for _, m := range messages {
			m = saysPolicy.ReplaceAllString(m, `VmGroupPolicy "`+prefix)
			out = append(out, saysNamespace.ReplaceAllString(m, `in namespace "`+prefix))
		}
		return out
	}
	here := func(member string) string { return strings.Replace(member, v1alpha1.LocalMember, "team-a", 1) }
	policies := map[string]v1alpha1.VmGroupPolicySpec{}
	for key, spec := range c.Policies {
		spec = *spec.DeepCopy()
		for i, pattern := range spec.Match.Exclude {
			spec.Match.Exclude[i] = prefix + pattern
		}
		for i, pattern := range spec.Match.MemberClusters {
			spec.Match.MemberClusters[i] = here(pattern)
		}
		keepTo(&spec.Match, name)
		policies[prefix+key] = spec
	}
	c.Policies, c.Member, c.Namespace = policies, here(c.Member), prefix+c.Namespace
	c.NamespaceLabels = maps.Clone(c.NamespaceLabels)
	if c.NamespaceLabels == nil {
		c.NamespaceLabels = map[string]string{}
	}
	c.NamespaceLabels[caseLabel], c.NamespaceLabels[tableLabel] = name, "yes"
	c.Others = slices.Clone(c.Others)
	for i := range c.Others {
		c.Others[i].Namespace = prefix + c.Others[i].Namespace
	}
	c.Refused, c.Warnings = rename(c.Refused), rename(c.Warnings)
	c.HubDownMessage = strings.Join(rename([]string{c.HubDownMessage}), "")
	if vcenter := vcenterWith(c.TemplatePath); vcenter != "" {
		c.Spec, c.Old = maps.Clone(c.Spec), maps.Clone(c.Old)
		c.Spec["vcenter"] = vcenter
	}
	return c
}

// keepTo limits a policy to the namespaces of a case.
func keepTo(match *v1alpha1.PolicyMatch, name string) {
	if _, err := metav1.LabelSelectorAsSelector(match.NamespaceSelector); err == nil {
		if match.NamespaceSelector == nil {
			match.NamespaceSelector = &metav1.LabelSelector{}
		}
		match.NamespaceSelector.MatchLabels = maps.Clone(match.NamespaceSelector.MatchLabels)
		if match.NamespaceSelector.MatchLabels == nil {
			match.NamespaceSelector.MatchLabels = map[string]string{}
		}
		match.NamespaceSelector.MatchLabels[caseLabel] = name
		return
	}
	for first := range strings.SplitSeq("abcdefghijklmnopqrstuvwxyz0123456789", "") {
		if first != name[:1] {
			match.Exclude = append(match.Exclude, first+"*")
		}
	}
}

// vcenterWith names a VCenter in which a template has that path; "" for the default, where templates are elsewhere.
func vcenterWith(templatePath string) string {
	if templatePath == "" {
		return ""
	}
	folder, name := path.Split(templatePath)
	switch folder = path.Clean(folder); {
	case tableTemplates[path.Base(folder)] == name:
		return "table-" + path.Base(folder)
	case folder == "/DC0/vm" && slices.Contains(tableSlashes, name):
		return "table-slashes"
	}
	panic("no VCenter has a template " + templatePath)
}

var (
	// tableTemplates are those whose paths cases name, by the folder below /DC0/vm. Each folder has a separate VCenter.
	tableTemplates = map[string]string{"images": "linux-12", "private": "linux-12", "linux-x": "windows-11", "debian-feature": "debug", "feature": "debug"}
	// tableSlashes are templates whose names contain a slash, as in the API. They are in a separate vCenter, because a
	// text that is both a name and a path is ambiguous.
	tableSlashes = []string{"debian-feature%2fdebug", "feature%2fdebug"}
)

// tableVCenters are those in which templates have the paths that cases name.
func tableVCenters() []string {
	names := append(make([]string, 0, 1+len(tableTemplates)), "table-slashes")
	for folder := range tableTemplates {
		names = append(names, "table-"+folder)
	}
	return names
}

// startTable starts a vCenter for the table, and returns its administrator.
func (s *scene) startTable(name string) (*stack.VCenter, *sim.Operator) {
	s.t.Helper()
	server, err := world.StartVCenter(s.t.Context(), name, sim.Options{Templates: []string{template}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = server.Stop() })
	person, err := sim.NewOperator(s.t.Context(), server.URL, sim.AdminUsername, sim.AdminPassword)
	if err != nil {
		s.t.Fatal(err)
	}
	return server, person
}

// makeVCenters creates the VCenters of the table: each sees the templates of one folder.
func (s *scene) makeVCenters() {
	s.t.Helper()
	ctx := s.t.Context()
	server, person := s.startTable("vcsim-table")
	defer person.Close()
	for folder, name := range tableTemplates {
		if err := person.CreateFolders(ctx, "/DC0/vm/"+folder); err != nil {
			s.t.Fatal(err)
		}
		if err := person.AddTemplate(ctx, "/DC0/vm/"+folder, name); err != nil {
			s.t.Fatal(err)
		}
		newVCenter(s.t, "table-"+folder, func(spec *v1alpha1.VCenterSpec) {
			spec.Server, spec.Templates = server.URL, &v1alpha1.Templates{Folders: []string{"/DC0/vm/" + folder}}
		})
	}
	server, other := s.startTable("vcsim-slashes")
	defer other.Close()
	for i, name := range tableSlashes {
		made := fmt.Sprint("slash-", i)
		if err := other.AddTemplate(ctx, "/DC0/vm", made); err != nil {
			s.t.Fatal(err)
		}
		if err := other.Rename(ctx, "/DC0/vm/"+made, name); err != nil {
			s.t.Fatal(err)
		}
	}
	newVCenter(s.t, "table-slashes", func(spec *v1alpha1.VCenterSpec) { spec.Server = server.URL })
	newVCenter(s.t, "east", nil)
	for _, name := range tableVCenters() {
		untilVCenterReady(s.t, name)
	}
	untilVCenterReady(s.t, "east")
}

func (s *scene) makeNamespaces() {
	s.t.Helper()
	for _, c := range s.cases {
		makeNamespace(s.t, c.Member, c.Namespace, c.NamespaceLabels)
		for _, o := range c.Others {
			makeNamespace(s.t, o.Member, o.Namespace, map[string]string{
				caseLabel: c.NamespaceLabels[caseLabel], tableLabel: "yes",
			})
		}
	}
}

// makeGroups creates the groups that exist before the requests. They can violate every policy, so no policy applies
// yet. They are paused: their VMs are not needed.
func (s *scene) makeGroups() {
	s.t.Helper()
	open := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "table-open"}}
	open.Spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{tableLabel: "yes"}}
	open.Spec.Limits = anything()
	s.create(world.Hub, open)
	for _, c := range s.cases {
		if c.Old != nil {
			old := c.Old
			if len(old) == 0 {
				old = nil // no spec, and not an empty one
			}
			s.makeGroup(c.Member, raw(c.Namespace, c.Group, old), c.Deleting)
		}
		for _, o := range c.Others {
			// Quotas count admitted usage, which is zero for a group without a spec.
			spec := map[string]any{"cpu": int64(1), "memory": int64(1), "template": template, "replicas": int64(0)}
			if o.Spec != nil {
				spec["cpu"], spec["memory"], spec["replicas"] = int64(o.Spec.CPU), int64(o.Spec.Memory), int64(ptr.Deref(o.Spec.Replicas, 1))
				if size := o.Spec.Shape().RootDiskGiB(); size != 0 {
					spec["disks"] = map[string]any{"root": map[string]any{"sizeGiB": int64(size)}}
				}
			}
			s.makeGroup(o.Member, raw(o.Namespace, o.Name, spec), false)
		}
	}
	await.Until(s.t, "the other groups to be admitted", func(ctx context.Context) (bool, error) {
		for _, c := range s.cases {
			for _, o := range c.Others {
				group := &v1alpha1.VmGroup{}
				err := world.Members[o.Member].Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, group)
				if err != nil || group.Status.Admitted == nil {
					return false, err
				}
			}
		}
		return true, nil
	})
	if err := world.Hub.Delete(s.t.Context(), open); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) makeGroup(member string, group *unstructured.Unstructured, deleting bool) {
	s.t.Helper()
	group.SetAnnotations(map[string]string{v1alpha1.PausedAnnotation: "true"})
	if deleting {
		group.SetFinalizers([]string{keepFinalizer})
	}
	// The members learn of the policy that allows everything a moment after its creation.
	await.Until(s.t, "group "+group.GetNamespace()+"/"+group.GetName(), func(ctx context.Context) (bool, error) {
		err := client.IgnoreAlreadyExists(world.Members[member].Create(ctx, group.DeepCopy()))
		return err == nil, err
	})
	s.t.Cleanup(func() { removePaused(s.t, member, group) })
	if deleting {
		if err := world.Members[member].Delete(s.t.Context(), group.DeepCopy()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// removePaused deletes a group and removes its finalizer.
func removePaused(t *testing.T, member string, group *unstructured.Unstructured) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cluster := world.Members[member]
	if err := cluster.Delete(ctx, group.DeepCopy()); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
	patch := []byte(`{"metadata": {"annotations": null, "finalizers": null}}`)
	err := cluster.Patch(ctx, group.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

// makePolicies creates the policies of all cases, and the marker's last.
func (s *scene) makePolicies() {
	s.t.Helper()
	exempt := clientAs(s.t, world.Hub, "system:serviceaccount:"+stack.Namespace+":vmgroup-operator")
	for _, c := range s.cases {
		for _, p := range c.PolicyList() {
			hub := world.Hub.Client
			if len(policy.Compile([]v1alpha1.VmGroupPolicy{p}).Problems()) > 0 {
				hub = exempt // the hub's webhook rejects an invalid policy; another version can have stored it
			}
			s.create(hub, &p)
		}
	}
	s.marker.makePolicy()
}

func (s *scene) create(cluster client.Client, object client.Object) {
	s.t.Helper()
	if err := cluster.Create(s.t.Context(), object); err != nil {
		s.t.Fatalf("%s: %v", object.GetName(), err)
	}
}

func (s *scene) removePolicies() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var list v1alpha1.VmGroupPolicyList
	if err := world.Hub.List(ctx, &list); err != nil {
		s.t.Error(err)
	}
	for i := range list.Items {
		if name := list.Items[i].Name; !strings.Contains(name, "case-") && !strings.HasPrefix(name, "table-") {
			continue
		}
		if err := world.Hub.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			s.t.Error(err)
		}
	}
}

// othersAreCounted reports whether the ledger has the other groups of all quotas.
func (s *scene) othersAreCounted(ctx context.Context) (bool, error) {
	maps, err := corev1client.NewForConfig(world.Hub.Config)
	if err != nil {
		return false, err
	}
	ledgers, err := quotatest.List(ctx, maps.ConfigMaps(stack.Namespace))
	if err != nil {
		return false, err
	}
	counted := map[string]bool{}
	for _, stored := range ledgers {
		for id, e := range stored.State.Entries() {
			counted[id.Member+"/"+e.Namespace+"/"+e.Name] = true
		}
	}
	for _, c := range s.cases {
		for _, o := range c.Others {
			labels := map[string]string{caseLabel: c.NamespaceLabels[caseLabel]}
			requester := policy.Requester{Member: o.Member, Namespace: o.Namespace, NamespaceLabels: labels}
			group := o.Member + "/" + o.Namespace + "/" + o.Name
			if len(c.Set().Quotas(requester)) > 0 && !counted[group] {
				return false, fmt.Errorf("the ledger does not have %s", group)
			}
		}
	}
	return true, nil
}

// anything are limits that every group satisfies, in place of the default ones.
func anything() *v1alpha1.PolicyLimits {
	return &v1alpha1.PolicyLimits{
		CPU: &v1alpha1.CountRange{Min: new(int32(0))}, Memory: &v1alpha1.AmountRange{Min: new(v1alpha1.Amount("0"))},
		Disk: &v1alpha1.AmountRange{Min: new(v1alpha1.Amount("0"))}, Replicas: &v1alpha1.CountRange{Min: new(int32(0))},
	}
}

// makeNamespace creates a namespace unless it exists.
func makeNamespace(t *testing.T, member, name string, labels map[string]string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if err := world.Members[member].Create(t.Context(), namespace); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}

// raw is a group as a user wrote it.
func raw(namespace, name string, spec map[string]any) *unstructured.Unstructured {
	group := &unstructured.Unstructured{Object: map[string]any{}}
	group.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	group.SetNamespace(namespace)
	group.SetName(name)
	if spec != nil {
		group.Object["spec"] = maps.Clone(spec)
	}
	return group
}
