package webhook

import (
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Maximum sizes of objects of the hub's own kinds, equal to those in their schemas. An API server validates an object against its schema before it calls, but
// other callers of the port do not. Without these limits, a small request could cause a lot of work.
const (
	maxPatterns      = 64
	maxPattern       = 255
	maxMemberPattern = 64
	maxExcluded      = 63
	maxGrants        = 64
	maxLegacyFolders = 512
	maxName          = 63
	maxGroupName     = 253
	maxPlace         = 255
	maxURL           = 512
	maxCABundle      = 262144
	maxThumbprint    = 128
	// The schemas do not limit labels of a selector.
	maxSelectors   = 64
	maxSelectorSet = 256
)

// maxGroupText limits each text of a VmGroup that messages quote, in characters. It is far above the limit of the present schema: the API server does not
// validate unchanged fields of groups of the original operator.
const maxGroupText = 4 << 10

// maxCauses is how many errors are reported for an object of the hub's own kinds. After the user has corrected these, the next ones are reported.
const maxCauses = 20

func atMostCauses(errs field.ErrorList) field.ErrorList {
	return errs[:min(len(errs), maxCauses)]
}

// sizes records the first part of an object that exceeds its limit.
type sizes struct{ err *field.Error }

// items checks the length of a list, and reports whether no limit is exceeded so far.
func (s *sizes) items(where *field.Path, n, most int) bool {
	if s.err == nil && n > most {
		s.err = field.TooMany(where, n, most)
	}
	return s.err == nil
}

// text checks the length of a text, which schemas count in characters.
func (s *sizes) text(where *field.Path, text string, most int) {
	if s.err == nil && len(text) > most && utf8.RuneCountInString(text) > most {
		s.err = field.TooLong(where, field.OmitValueType{}, most)
	}
}

func (s *sizes) patterns(where *field.Path, list []string, length int) {
	if !s.items(where, len(list), maxPatterns) {
		return
	}
	for i, text := range list {
		s.text(where.Index(i), text, length)
	}
}

func (s *sizes) selector(where *field.Path, selector *metav1.LabelSelector) {
	if selector == nil || !s.items(where, len(selector.MatchLabels)+len(selector.MatchExpressions), maxSelectors) {
		return
	}
	for _, requirement := range selector.MatchExpressions {
		s.items(where, len(requirement.Values), maxSelectorSet)
	}
}

// policySize refuses a policy that would be slow to evaluate: each pattern is compared with each group.
func policySize(spec *field.Path, p *v1alpha1.VmGroupPolicy) *field.Error {
	var s sizes
	match, templates := spec.Child("match"), spec.Child("templates")
	s.patterns(match.Child("memberClusters"), p.Spec.Match.MemberClusters, maxMemberPattern)
	s.patterns(match.Child("exclude"), p.Spec.Match.Exclude, maxExcluded)
	if t := p.Spec.Templates; t != nil {
		s.patterns(templates.Child("allow"), t.Allow, maxPattern)
		s.patterns(templates.Child("deny"), t.Deny, maxPattern)
	}
	s.selector(match.Child("namespaceSelector"), p.Spec.Match.NamespaceSelector)
	return s.err
}

// vcenterSize refuses a VCenter that is larger than its schema allows.
func vcenterSize(spec *field.Path, vc *v1alpha1.VCenter) *field.Error {
	var s sizes
	s.text(spec.Child("server"), vc.Spec.Server, maxURL)
	s.text(spec.Child("datacenter"), vc.Spec.Datacenter, maxPlace)
	s.text(spec.Child("folder"), vc.Spec.Folder, maxPlace)
	if tls := vc.Spec.TLS; tls != nil {
		s.text(spec.Child("tls", "caBundle"), tls.CABundle, maxCABundle)
		s.text(spec.Child("tls", "thumbprint"), tls.Thumbprint, maxThumbprint)
	}
	if t := vc.Spec.Templates; t != nil {
		s.patterns(spec.Child("templates", "folders"), t.Folders, maxPattern)
	}
	if grants := spec.Child("grants"); s.items(grants, len(vc.Spec.Grants), maxGrants) {
		for i := range vc.Spec.Grants {
			s.grant(grants.Index(i), &vc.Spec.Grants[i])
		}
	}
	if folders := spec.Child("legacyFolders"); s.items(folders, len(vc.Spec.LegacyFolders), maxLegacyFolders) {
		for i := range vc.Spec.LegacyFolders {
			s.legacyFolder(folders.Index(i), &vc.Spec.LegacyFolders[i])
		}
	}
	return s.err
}

func (s *sizes) grant(where *field.Path, grant *v1alpha1.Grant) {
	s.patterns(where.Child("memberClusters"), grant.MemberClusters, maxMemberPattern)
	s.patterns(where.Child("templates"), grant.Templates, maxPattern)
	s.patterns(where.Child("resourcePools"), grant.ResourcePools, maxPattern)
	s.patterns(where.Child("datastores"), grant.Datastores, maxPattern)
	s.patterns(where.Child("networks"), grant.Networks, maxPattern)
	s.selector(where.Child("namespaceSelector"), grant.NamespaceSelector)
}

func (s *sizes) legacyFolder(where *field.Path, folder *v1alpha1.LegacyFolder) {
	s.text(where.Child("folder"), folder.Folder, maxPlace)
	s.text(where.Child("memberCluster"), folder.MemberCluster, maxName)
	s.text(where.Child("namespace"), folder.Namespace, maxName)
	s.text(where.Child("group"), folder.Group, maxGroupName)
}

// groupSize refuses a VmGroup with a name or texts of an impossible length. Policies and the planner repeat them in messages: for each policy, and the name for
// each of 500 VMs. One review of 3 MiB would become gigabytes.
func groupSize(g *v1alpha1.VmGroup) *field.Error {
	var s sizes
	s.text(field.NewPath("metadata", "name"), g.Name, maxGroupName)
	spec := field.NewPath("spec")
	s.text(spec.Child("template"), g.Spec.Template, maxGroupText)
	s.text(spec.Child("vcenter"), g.Spec.VCenter, maxGroupText)
	at, placement := placementOf(g), spec.Child("placement")
	s.text(placement.Child("resourcePool"), at.ResourcePool, maxGroupText)
	s.text(placement.Child("datastore"), at.Datastore, maxGroupText)
	s.text(placement.Child("network"), at.Network, maxGroupText)
	if r := g.Spec.Readiness; r != nil && r.GuestInfo != nil {
		s.text(spec.Child("readiness", "guestInfo", "key"), r.GuestInfo.Key, maxGroupText)
		s.text(spec.Child("readiness", "guestInfo", "value"), r.GuestInfo.Value, maxGroupText)
	}
	if ref := g.Spec.UserDataSecretRef; ref != nil {
		s.text(spec.Child("userDataSecretRef", "name"), ref.Name, maxGroupText)
	}
	return s.err
}

// groupSizes refuses the change of a group, nil for a new one, if either exceeds its limits: policies compare both.
func groupSizes(old, g *v1alpha1.VmGroup) *field.Error {
	if err := groupSize(g); err != nil || old == nil {
		return err
	}
	return groupSize(old)
}

// memberSize refuses a MemberCluster that is larger than its schema allows.
func memberSize(spec *field.Path, m *v1alpha1.MemberCluster) *field.Error {
	var s sizes
	if m.Spec.Admission != nil {
		s.text(spec.Child("admission", "url"), m.Spec.Admission.URL, maxURL)
	}
	return s.err
}
