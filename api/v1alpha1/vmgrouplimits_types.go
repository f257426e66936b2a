package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LimitsName is the name of the one VmGroupLimits that each member has.
const LimitsName = "vmgroup-operator"

// LimitsRange limits a number; an unset end has no limit.
type LimitsRange struct {
	// min is the minimum.
	// +optional
	Min *int64 `json:"min,omitempty"`
	// max is the maximum.
	// +optional
	Max *int64 `json:"max,omitempty"`
}

// LimitsPattern is a pattern of a VmGroupPolicy.
type LimitsPattern struct {
	// pattern as in the policy; * stands for any run of characters.
	// +required
	// +kubebuilder:validation:MaxLength=255
	Pattern string `json:"pattern"`
	// expression is the pattern as a regular expression. It is set for a pattern with a star. It is also set for a pattern of vCenter
	// names in which %2f, %5c or %25 stands for a character.
	// +optional
	// +kubebuilder:validation:MaxLength=1200
	Expression string `json:"expression,omitempty"`
	// path is set for a template's pattern with a slash: only the hub can determine whether it means a name or an inventory path.
	// +optional
	Path bool `json:"path,omitempty"`
}

// LimitsRequirement is one requirement that a namespace's labels must meet.
type LimitsRequirement struct {
	// key of the label.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// operator is In, NotIn, Exists or DoesNotExist.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`
	// values for In and NotIn.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Values []string `json:"values,omitempty"`
}

// LimitsTemplates are the templates that a policy allows and denies.
type LimitsTemplates struct {
	// allow are patterns, one of which must match. If empty, all are allowed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Allow []LimitsPattern `json:"allow,omitempty"`
	// allowList is the text that lists allow in messages.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	AllowList string `json:"allowList,omitempty"`
	// deny are patterns, none of which can match.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Deny []LimitsPattern `json:"deny,omitempty"`
}

// LimitsBounds limits the fields of a group.
type LimitsBounds struct {
	// cpu limits spec.cpu, in virtual CPUs per VM.
	// +optional
	CPU LimitsRange `json:"cpu,omitzero"`
	// memory limits spec.memory, in GiB per VM.
	// +optional
	Memory LimitsRange `json:"memory,omitzero"`
	// disk limits spec.disks.root.sizeGiB, in GiB. The maximum also limits each data disk.
	// +optional
	Disk LimitsRange `json:"disk,omitzero"`
	// replicas limits spec.replicas.
	// +optional
	Replicas LimitsRange `json:"replicas,omitzero"`
}

// LimitsPolicy is a VmGroupPolicy as this cluster enforces it.
type LimitsPolicy struct {
	// name of the VmGroupPolicy on the hub.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// enforced is false for a policy that only warns: its defaults apply, and requests that exceed its limits are not refused.
	// +optional
	Enforced bool `json:"enforced"`
	// refusal is set if the policy is unusable as written. It is the message that refuses every request that would grow.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Refusal string `json:"refusal,omitempty"`
	// exclude are the namespaces that the policy does not apply to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Exclude []LimitsPattern `json:"exclude,omitempty"`
	// selector are requirements. The policy applies only to namespaces whose labels meet all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Selector []LimitsRequirement `json:"selector,omitempty"`

	LimitsBounds `json:",inline"`

	// diskRequired is true if a quota limits storage: groups with VMs must set spec.disks.root.sizeGiB.
	// +optional
	DiskRequired bool `json:"diskRequired,omitempty"`
	// templates that a group can name.
	// +optional
	Templates LimitsTemplates `json:"templates,omitzero"`
	// defaults set fields that a group leaves out.
	// +optional
	Defaults PolicyDefaults `json:"defaults,omitzero"`
}

// VmGroupLimitsSpec has the limits of this cluster. They apply whether or not the cluster can reach the hub.
type VmGroupLimitsSpec struct {
	// member is the name of this cluster on the hub.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Member string `json:"member,omitempty"`
	// summary lists the policies, for display.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Summary string `json:"summary,omitempty"`
	// policies in the order in which defaults are applied and violations are reported. All policies that match a namespace apply.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Policies []LimitsPolicy `json:"policies,omitempty"`
	// unmatched are the default limits. A default limit of cpu, memory or replicas applies where no matching enforced policy limits the
	// same field.
	// +required
	Unmatched LimitsBounds `json:"unmatched"`
}

// VmGroupLimits limits the VmGroups of this cluster. The operator writes the only object, "vmgroup-operator", from the VmGroupPolicies of
// its hub. The cluster's admission policies read it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vmgrouplimits,singular=vmgrouplimits,scope=Cluster,shortName=vgl
// +kubebuilder:printcolumn:name="Member",type=string,JSONPath=`.spec.member`
// +kubebuilder:printcolumn:name="Policies",type=string,JSONPath=`.spec.summary`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type VmGroupLimits struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec has the limits.
	// +required
	Spec VmGroupLimitsSpec `json:"spec"`
}

// VmGroupLimitsList is a list of VmGroupLimits.
// +kubebuilder:object:root=true
type VmGroupLimitsList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VmGroupLimits `json:"items"`
}
