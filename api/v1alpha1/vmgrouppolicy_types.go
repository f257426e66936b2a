package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PolicyMatch selects the groups that a policy applies to.
type PolicyMatch struct {
	// memberClusters are patterns of MemberCluster names; * stands for any run of characters.
	// +optional
	// +kubebuilder:default={"*"}
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p && p.lowerAscii() == p)",message="a pattern must not be empty, begin or end with a space, or have capital letters: it would match no MemberCluster"
	MemberClusters []string `json:"memberClusters,omitempty"`
	// namespaceSelector selects namespaces by their labels in the member; if left out, all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// exclude are patterns of namespace names that the policy does not apply to.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p && !p.matches(r'[\\p{Cc}\\x{2028}\\x{2029}\\x{fffe}\\x{ffff}]'))",message="a pattern must not be empty, begin or end with a space, or have control characters or line breaks: it would match nothing"
	Exclude []string `json:"exclude,omitempty"`
}

// CountRange limits a number; an unset end has no limit.
//
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",message="min must not exceed max"
type CountRange struct {
	// min is the minimum.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Min *int32 `json:"min,omitempty"`
	// max is the maximum.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Max *int32 `json:"max,omitempty"`
}

// AmountRange limits an amount of memory or storage, for example 1Gi to 8Gi; an unset end has no limit.
//
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || [self.min, self.max].exists(a, string(a).matches('[eE][+-]?[0-9]{3}') || !isQuantity(string(a))) || quantity(string(self.min)).compareTo(quantity(string(self.max))) <= 0",message="min must not exceed max"
type AmountRange struct {
	// min is the minimum.
	// +optional
	Min *Amount `json:"min,omitempty"`
	// max is the maximum.
	// +optional
	Max *Amount `json:"max,omitempty"`
}

// PolicyLimits limits the fields of a group.
type PolicyLimits struct {
	// cpu limits spec.cpu, in virtual CPUs per VM.
	// +optional
	CPU *CountRange `json:"cpu,omitempty"`
	// memory limits spec.memory, per VM.
	// +optional
	Memory *AmountRange `json:"memory,omitempty"`
	// disk limits spec.disks.root.sizeGiB; without that field, the disk is as large as that of the template. The maximum also limits each data disk.
	// +optional
	Disk *AmountRange `json:"disk,omitempty"`
	// replicas limits spec.replicas.
	// +optional
	Replicas *CountRange `json:"replicas,omitempty"`
}

// PolicyTemplates specifies which templates a group can name. A pattern with a slash is matched against the name and the inventory path of
// the template; any other pattern against the name. * stands for any run of characters. Case is ignored.
type PolicyTemplates struct {
	// allow are patterns, one of which must match. If empty, all are allowed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p && !p.matches(r'[\\p{Cc}\\x{2028}\\x{2029}\\x{fffe}\\x{ffff}]'))",message="a pattern must not be empty, begin or end with a space, or have control characters or line breaks: it would match nothing"
	Allow []string `json:"allow,omitempty"`
	// deny are patterns, none of which can match.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p && !p.matches(r'[\\p{Cc}\\x{2028}\\x{2029}\\x{fffe}\\x{ffff}]'))",message="a pattern must not be empty, begin or end with a space, or have control characters or line breaks: it would match nothing"
	Deny []string `json:"deny,omitempty"`
	// mustExist refuses a group whose template is not in vCenter yet, instead of a warning.
	// +optional
	MustExist bool `json:"mustExist,omitempty"`
}

// PolicyDefaults sets fields that a group leaves out.
type PolicyDefaults struct {
	// cpu is the default of spec.cpu, in virtual CPUs per VM.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=768
	CPU int32 `json:"cpu,omitempty"`
	// memory is the default of spec.memory, in GiB per VM.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=24576
	Memory int32 `json:"memory,omitempty"`
	// template is the default of spec.template.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="!self.matches(r'[\\p{Cc}\\x{2028}\\x{2029}\\x{fffe}\\x{ffff}]')",message="must not have control characters or line breaks"
	Template string `json:"template,omitempty"`
	// vcenter is the default of spec.vcenter.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!self.matches(r'[\\p{Cc}\\x{2028}\\x{2029}\\x{fffe}\\x{ffff}]')",message="must not have control characters or line breaks"
	VCenter string `json:"vcenter,omitempty"`
	// disk is the default of spec.disks.root.sizeGiB of new VmGroups, in GiB. VmGroups whose cloneMode is not Full get none, because
	// the disks of linked clones are as large as in their template. An update gets none either.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=63488
	Disk int32 `json:"disk,omitempty"`
}

// QuotaScope specifies the groups over which a quota's totals are counted.
// +kubebuilder:validation:Enum=Namespace;Match
type QuotaScope string

// Quota scopes.
const (
	// QuotaNamespace counts each namespace of each member separately.
	QuotaNamespace QuotaScope = "Namespace"
	// QuotaMatch counts all groups that the policy matches together, over all members.
	QuotaMatch QuotaScope = "Match"
)

// QuotaRetain specifies whether groups under a quota can leave VMs behind.
// +kubebuilder:validation:Enum=Deny;Allow
type QuotaRetain string

// Values of QuotaRetain.
const (
	RetainDeny  QuotaRetain = "Deny"
	RetainAllow QuotaRetain = "Allow"
)

// PolicyQuota limits totals; an unset total has no limit.
type PolicyQuota struct {
	// groups is the number of VmGroups.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Groups *int32 `json:"groups,omitempty"`
	// vms is the sum of spec.replicas.
	// +optional
	// +kubebuilder:validation:Minimum=0
	VMs *int32 `json:"vms,omitempty"`
	// cpu is the sum of spec.cpu times spec.replicas, in virtual CPUs.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CPU *int64 `json:"cpu,omitempty"`
	// memory is the sum of spec.memory times spec.replicas.
	// +optional
	Memory *Amount `json:"memory,omitempty"`
	// storage is the sum of the sizes in spec.disks times spec.replicas. Groups under this limit must set the size of the root disk.
	// +optional
	Storage *Amount `json:"storage,omitempty"`
	// scope is Namespace or Match. Namespace counts each namespace of each member separately. Match counts all groups that the policy
	// matches together.
	// +optional
	// +kubebuilder:default=Namespace
	Scope QuotaScope `json:"scope,omitempty"`
	// retain is Allow or Deny: whether groups can have deletionPolicy Retain. VMs that such a group leaves behind count until a hub
	// administrator removes them, or their retention mark.
	// +optional
	// +kubebuilder:default=Deny
	Retain QuotaRetain `json:"retain,omitempty"`
}

// PolicyMode specifies the effect of a violation.
// +kubebuilder:validation:Enum=Enforce;Warn
type PolicyMode string

// Policy modes.
const (
	PolicyEnforce PolicyMode = "Enforce"
	PolicyWarn    PolicyMode = "Warn"
)

// VmGroupPolicySpec has the limits and defaults that hub administrators set.
type VmGroupPolicySpec struct {
	// priority decides whose defaults apply: the highest priority, then the first name. Limits of all matching policies apply together.
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// match selects the groups that the policy applies to.
	// +optional
	// +kubebuilder:default={}
	Match PolicyMatch `json:"match,omitzero"`
	// limits limits the fields of a group. In mode Enforce, a range replaces the default limit of its field. The default limits are: cpu 1
	// to 4, memory 1Gi to 8Gi, replicas at least 1.
	// +optional
	Limits *PolicyLimits `json:"limits,omitempty"`
	// templates specifies which templates a group can name.
	// +optional
	Templates *PolicyTemplates `json:"templates,omitempty"`
	// defaults sets fields that a group leaves out.
	// +optional
	Defaults *PolicyDefaults `json:"defaults,omitempty"`
	// quota limits totals.
	// +optional
	Quota *PolicyQuota `json:"quota,omitempty"`
	// mode is Enforce or Warn. Enforce rejects requests and holds VmGroups that violate the policy. Warn reports violations and blocks
	// nothing.
	// +optional
	// +kubebuilder:default=Enforce
	Mode PolicyMode `json:"mode,omitempty"`
}

// VmGroupPolicyStatus has the last counts.
type VmGroupPolicyStatus struct {
	// conditions of the policy; see docs/reference/vmgrouppolicy.md for types and reasons.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the metadata.generation that this status describes. It is -1 until the operator writes status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// matchedGroups is the number of groups that the policy applies to.
	// +optional
	MatchedGroups int32 `json:"matchedGroups"`
	// violations is the number of matched groups that violate the policy.
	// +optional
	Violations int32 `json:"violations"`
}

// VmGroupPolicy limits the VmGroups that it selects, on the hub.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=vgp
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Matched",type=integer,JSONPath=`.status.matchedGroups`
// +kubebuilder:printcolumn:name="Violations",type=integer,JSONPath=`.status.violations`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type VmGroupPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec has the limits and defaults of the policy.
	// +required
	Spec VmGroupPolicySpec `json:"spec"`
	// status has the last counts.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status VmGroupPolicyStatus `json:"status,omitzero"`
}

// VmGroupPolicyList is a list of VmGroupPolicies.
// +kubebuilder:object:root=true
type VmGroupPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VmGroupPolicy `json:"items"`
}
