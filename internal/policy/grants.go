package policy

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
)

// Requester is the origin of a request: a namespace of a member cluster.
type Requester struct {
	// Member is the name of the MemberCluster.
	Member string
	// Namespace of the VmGroup, and its labels in the member.
	Namespace       string
	NamespaceLabels map[string]string
}

// Reference is an object of a vCenter that a group references.
type Reference struct {
	// Field of the VmGroup with the reference, for example spec.template.
	Field string
	// Kind for messages: "template", "resource pool", "datastore", "network".
	Kind ReferenceKind
	// Given is the text in the group. Path is the inventory path that it was resolved to.
	Given, Path string
}

// ReferenceKind is a kind of object that grants list.
type ReferenceKind string

// Reference kinds.
const (
	TemplateReference     ReferenceKind = "template"
	ResourcePoolReference ReferenceKind = "resource pool"
	DatastoreReference    ReferenceKind = "datastore"
	NetworkReference      ReferenceKind = "network"
)

// Denial is a reference, or the use of a whole vCenter, that no grant covers.
type Denial struct {
	// Field of the VmGroup.
	Field string
	// Message is a sentence with the required change and its place.
	Message string
}

// CheckVCenter checks whether requester can use a vCenter at all; nil means yes. Only the hub's own member, local, can use a vCenter without grants.
// A selector that cannot be parsed grants nothing.
func CheckVCenter(vcenter string, grants []v1alpha1.Grant, requester Requester) *Denial {
	if len(grants) == 0 && requester.Member == v1alpha1.LocalMember {
		return nil
	}
	if len(grantsFor(grants, requester)) > 0 {
		return nil
	}
	return &Denial{
		Field: "spec.vcenter",
		Message: fmt.Sprintf("VCenter %q does not grant anything to namespace %q of member cluster %q; "+
			"ask a hub administrator to add a grant to that VCenter on the hub", vcenter, requester.Namespace, requester.Member),
	}
}

// CheckReferences returns a denial for each reference that no grant of the vCenter covers, in their order. The patterns of all grants that match
// requester count together.
func CheckReferences(vcenter string, grants []v1alpha1.Grant, requester Requester, refs []Reference) []Denial {
	if len(grants) == 0 && requester.Member == v1alpha1.LocalMember {
		return nil
	}
	matching := grantsFor(grants, requester)
	var denials []Denial
	for _, ref := range refs {
		if covered(matching, ref) {
			continue
		}
		wayOut := "name a granted one, or ask a hub administrator to grant it on the hub"
		if inventoryname.Truncated(ref.Path) {
			wayOut = fmt.Sprintf("the operator's account in vCenter does not see what is above it (%q), so that no grant by path covers it: "+
				"give the account the role Read-only (privilege System.Read) there", ref.Path)
		}
		denials = append(denials, Denial{
			Field: ref.Field,
			Message: fmt.Sprintf("%s %q is not granted to namespace %q of member cluster %q by VCenter %q; %s",
				ref.Kind, ref.Given, requester.Namespace, requester.Member, vcenter, wayOut),
		})
	}
	return denials
}

func covered(grants []v1alpha1.Grant, ref Reference) bool {
	for _, grant := range grants {
		var patterns []string
		switch ref.Kind {
		case TemplateReference:
			patterns = grant.Templates
		case ResourcePoolReference:
			patterns = grant.ResourcePools
		case DatastoreReference:
			patterns = grant.Datastores
		case NetworkReference:
			patterns = grant.Networks
		}
		// Only the resolved path counts, never the spelling in the group: a spelling such as "linux-x/../windows" must not satisfy a pattern.
		found := foundAt(ref.Path)
		for _, text := range patterns {
			if p := namePatternOf(text); p.matchesName(found.name) || p.matchesPath(found) {
				return true
			}
		}
	}
	return false
}

func grantsFor(grants []v1alpha1.Grant, requester Requester) []v1alpha1.Grant {
	var matching []v1alpha1.Grant
	for _, grant := range grants {
		if matchesAny(grant.MemberClusters, requester.Member) &&
			selects(grant.NamespaceSelector, requester.NamespaceLabels) {
			matching = append(matching, grant)
		}
	}
	return matching
}

func selects(selector *metav1.LabelSelector, namespaceLabels map[string]string) bool {
	if selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(namespaceLabels))
}
