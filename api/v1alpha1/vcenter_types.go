package v1alpha1

import (
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VCenterFinalizer holds a VCenter until the operator has logged out of it.
const VCenterFinalizer = "vm.codeconnect.vmworld.com/vcenter"

// AcceptEmptyAnnotation on a VCenter, with the instance UUID of the vCenter as value, confirms that its root folder is empty. Without it,
// if a root folder that had VMs suddenly appears empty, the operator creates and deletes nothing there.
const AcceptEmptyAnnotation = "vm.codeconnect.vmworld.com/accept-empty-inventory"

// PredecessorAnnotation on a MemberCluster and on a VCenter has the UID of another operator installation that is permanently lost. This
// installation takes over the member, and the VMs with that installation's stamp, with the same references. It does so once that
// installation shows no sign of life: its claim on the member is three hours old, and it has no session at the vCenter.
const PredecessorAnnotation = "vm.codeconnect.vmworld.com/predecessor"

// AcceptInstanceAnnotation on a VCenter, with a new instance UUID as value, confirms that the vCenter was rebuilt with its VMs: its
// instance UUID differs from the one in which the VMs were recorded.
const AcceptInstanceAnnotation = "vm.codeconnect.vmworld.com/accept-instance"

// TLSConfig specifies how the vCenter's certificate is checked. Set at most one field. With none, the system's certificate authorities are
// trusted.
//
// +kubebuilder:validation:XValidation:rule="[has(self.caBundle) && size(self.caBundle) > 0, has(self.thumbprint) && size(self.thumbprint) > 0, has(self.insecureSkipVerify) && self.insecureSkipVerify].filter(x, x).size() <= 1",message="set only one of caBundle, thumbprint and insecureSkipVerify"
type TLSConfig struct {
	// caBundle is a PEM bundle of certificate authorities.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	// +kubebuilder:validation:XValidation:rule="self == '' || self.contains('-----BEGIN CERTIFICATE-----')",message="caBundle holds no PEM certificate"
	CABundle string `json:"caBundle,omitempty"`
	// thumbprint is the SHA-1 or SHA-256 thumbprint of the server's certificate, hexadecimal with colons.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.replace(':', '').matches('^([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})?$')",message="thumbprint must be the SHA-1 or SHA-256 of the server's certificate, 20 or 32 bytes in hexadecimal"
	Thumbprint string `json:"thumbprint,omitempty"`
	// insecureSkipVerify turns certificate checks off. Anyone on the network path can then read the password.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// VCenterUserNames specifies whether members can see the names of vCenter users.
// +kubebuilder:validation:Enum=Deny;Allow
type VCenterUserNames string

// Values of VCenterUserNames.
const (
	VCenterUserNamesDeny  VCenterUserNames = "Deny"
	VCenterUserNamesAllow VCenterUserNames = "Allow"
)

// Templates specifies where the operator searches for templates.
type Templates struct {
	// folders are inventory paths. Only templates below one of them can be used. If empty, any VM that is marked as template can be used.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p)",message="a pattern must not be empty, nor begin or end with a space: it would match nothing"
	Folders []string `json:"folders,omitempty"`
}

// Grant allows groups of some member clusters and namespaces to use this vCenter and some of its objects. Patterns can contain * for any
// run of characters, including slashes.
type Grant struct {
	// memberClusters are patterns of MemberCluster names; the hub itself is "local".
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p && p.lowerAscii() == p)",message="a pattern must not be empty, begin or end with a space, or have capital letters: it would match no MemberCluster"
	MemberClusters []string `json:"memberClusters"`
	// namespaceSelector selects namespaces by their labels in the member; if left out or empty, all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// templates are patterns of template names or inventory paths. Empty grants no template.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p)",message="a pattern must not be empty, nor begin or end with a space: it would match nothing"
	Templates []string `json:"templates,omitempty"`
	// resourcePools are patterns that a group can name in its placement. The VCenter's default needs no grant.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p)",message="a pattern must not be empty, nor begin or end with a space: it would match nothing"
	ResourcePools []string `json:"resourcePools,omitempty"`
	// datastores are patterns that a group can name in its placement. The VCenter's default needs no grant.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p)",message="a pattern must not be empty, nor begin or end with a space: it would match nothing"
	Datastores []string `json:"datastores,omitempty"`
	// networks are patterns that a group can name in its placement. The VCenter's default needs no grant.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p)",message="a pattern must not be empty, nor begin or end with a space: it would match nothing"
	Networks []string `json:"networks,omitempty"`
}

// VCenterLimits limits the load on a vCenter.
type VCenterLimits struct {
	// tasks is the maximum number of running tasks of all groups.
	// +optional
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=640
	Tasks int32 `json:"tasks,omitempty"`
	// tasksPerHost is the maximum number of running clones whose template is on one host. vSphere runs four full clones of one host at a
	// time and queues the rest.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=640
	TasksPerHost int32 `json:"tasksPerHost,omitempty"`
}

// InventoryMode specifies how the operator detects changes in vCenter.
// +kubebuilder:validation:Enum=Watch;Poll
type InventoryMode string

// Inventory modes.
const (
	// InventoryWatch keeps one property-collector stream open.
	InventoryWatch InventoryMode = "Watch"
	// InventoryPoll reads the root folder every pollSeconds with one call.
	InventoryPoll InventoryMode = "Poll"
)

// Inventory specifies how the operator observes its root folder.
type Inventory struct {
	// mode is Watch or Poll. Watch keeps a stream of changes open. Poll reads the root folder every pollSeconds. Use Poll for simulators,
	// whose watch has a cost quadratic in the number of VMs.
	// +optional
	// +kubebuilder:default=Watch
	Mode InventoryMode `json:"mode,omitempty"`
	// pollSeconds is the interval of mode Poll, in seconds.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	PollSeconds int32 `json:"pollSeconds,omitempty"`
}

// LegacyFolder grants the VMs of a folder to a VmGroup of the original operator, which adopts them.
type LegacyFolder struct {
	// folder that directly contains the VMs: its path below the datacenter's VM folder, or its full inventory path.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Folder string `json:"folder"`
	// memberCluster is the name of the MemberCluster of the group; the hub itself is "local".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	MemberCluster string `json:"memberCluster"`
	// namespace of the group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// group is the name of the group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
}

// SameLegacyFolder reports whether two paths can name the same folder. One path can be the end of the other, which includes the datacenter.
func SameLegacyFolder(a, b string) bool {
	return LegacyFolderKey(a) == LegacyFolderKey(b)
}

// LegacyFolderKey returns the same key for paths that can name the same folder. The key has no datacenter and ignores case.
func LegacyFolderKey(path string) string {
	if strings.HasPrefix(path, "/") {
		if _, rest, found := strings.Cut(path, "/vm/"); found {
			path = rest
		}
	}
	// The smallest of the letters that differ only in case, as in strings.EqualFold; some letters have more than two forms.
	return strings.Map(func(letter rune) rune {
		least := letter
		for other := unicode.SimpleFold(letter); other != letter; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, strings.Trim(path, "/"))
}

// VCenterSpec is a vCenter and the grants for its use.
//
// +kubebuilder:validation:XValidation:rule="!has(self.server) || !self.server.lowerAscii().startsWith('http://') || has(self.tls) && has(self.tls.insecureSkipVerify) && self.tls.insecureSkipVerify",message="server must use https: http would send the password in the clear",fieldPath=".server"
type VCenterSpec struct {
	// server is the URL of the vCenter, https://host[:port], optionally with the path /sdk and no other. If empty, VC_HOST of the Secret is
	// used, as by the original operator.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.contains('@')",message="server must not contain a user name or password: put them into the Secret of credentialsSecretRef"
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-zA-Z0-9]+://)?[^/?#]*(/(sdk/?)?)?$')",message="server may have a host, a port and the path /sdk only"
	// +kubebuilder:validation:XValidation:rule="self.matches('^(((?i:https?)://)?([[][0-9a-fA-F:.]+[]]|[^]/:@ []+)(:[0-9]+)?(/[^ ]*)?)?$')",message="server must be a URL of the form https://<host>[:port]"
	// +kubebuilder:validation:MaxLength=512
	Server string `json:"server,omitempty"`
	// credentialsSecretRef names a Secret in the operator's namespace with keys username and password, or the original's VC_USER and
	// VC_PASS. The operator sends them only to the vCenters that the Secret names: in its annotation
	// vm.codeconnect.vmworld.com/vcenter-hosts, or else in its key VC_HOST.
	// +required
	CredentialsSecretRef LocalObjectReference `json:"credentialsSecretRef"`
	// tls specifies how the server's certificate is checked.
	// +optional
	TLS *TLSConfig `json:"tls,omitempty"`
	// datacenter is the name or inventory path of the datacenter. If empty, the only datacenter is used.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Datacenter string `json:"datacenter,omitempty"`
	// folder is the root folder of the operator below the datacenter's VM folder. The operator creates it if it is missing.
	// +optional
	// +kubebuilder:default=vm-operator
	// +kubebuilder:validation:MaxLength=255
	Folder string `json:"folder,omitempty"`
	// resourcePool is the default for groups: a name or path. If empty, the only resource pool is used.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ResourcePool string `json:"resourcePool,omitempty"`
	// datastore is the default for groups: a name or path. If empty, new VMs stay on the template's datastore.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Datastore string `json:"datastore,omitempty"`
	// network is the default for groups: a name or path. If empty, new VMs keep the template's network.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Network string `json:"network,omitempty"`
	// templates specifies where the operator searches for templates.
	// +optional
	Templates *Templates `json:"templates,omitempty"`
	// grants specify which members and namespaces can use this vCenter. Without grants, only the hub's own member "local" can use it, with
	// all its objects. With grants, anything that is not granted is refused.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Grants []Grant `json:"grants,omitempty"`
	// vcenterUserNames is Allow or Deny: whether events of VmGroups name the vCenter user who changed a VM outside the operator, for
	// example powered it off or deleted it. With Deny, the default, only the VCenter's own events on the hub and the operator's log name
	// the user.
	// +optional
	VCenterUserNames VCenterUserNames `json:"vcenterUserNames,omitempty"`
	// legacyFolders grant folders with VMs of the original operator to VmGroups that adopt them, each folder to one group.
	// +optional
	// +listType=map
	// +listMapKey=folder
	// +kubebuilder:validation:MaxItems=512
	LegacyFolders []LegacyFolder `json:"legacyFolders,omitempty"`
	// limits limits the load on this vCenter.
	// +optional
	// +kubebuilder:default={}
	Limits VCenterLimits `json:"limits,omitzero"`
	// inventory specifies how the operator observes its root folder.
	// +optional
	// +kubebuilder:default={}
	Inventory Inventory `json:"inventory,omitzero"`
}

// VCenterRoot is a root folder that was found by its name. The operator uses it only if vCenter shows VMs of this installation in it,
// placed as in a root folder.
type VCenterRoot struct {
	// instanceUuid of the vCenter that moRef belongs to.
	// +required
	// +kubebuilder:validation:MaxLength=64
	InstanceUUID string `json:"instanceUuid"`
	// datacenter as spec had it.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Datacenter string `json:"datacenter,omitempty"`
	// folder as spec had it.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Folder string `json:"folder,omitempty"`
	// moRef is the managed object reference of the folder.
	// +required
	// +kubebuilder:validation:MaxLength=128
	MoRef string `json:"moRef"`
}

// VCenterCheck is a `manager check vcenter` that passed without failures.
type VCenterCheck struct {
	// time when the check began.
	// +required
	Time metav1.Time `json:"time"`
	// version of the vCenter that was checked.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// build of the vCenter that was checked.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Build string `json:"build,omitempty"`
	// operator is the version of the program that ran the check.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Operator string `json:"operator,omitempty"`
	// warnings is the number of warnings.
	// +optional
	Warnings int32 `json:"warnings"`
}

// VCenterStatus is the observed state of a vCenter.
type VCenterStatus struct {
	// conditions of the vCenter; see docs/reference/vcenter.md for types and reasons.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the metadata.generation that this status describes. It stays behind until the operator knows whether the
	// settings of a new generation work. It is -1 until the operator writes status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// server that the operator is connected to, or was last connected to. It differs from spec.server while that server does not work.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Server string `json:"server,omitempty"`
	// version as the server reports it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`
	// instanceUuid of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceUUID string `json:"instanceUuid,omitempty"`
	// root is the location of the root folder. The operator uses it to find the folder after a rename, or after a datacenter was added.
	// +optional
	Root *VCenterRoot `json:"root,omitempty"`
	// check is the last `manager check vcenter` that passed. The command writes it, and the operator keeps it. After a vCenter upgrade,
	// compare its build with that of vCenter.
	// +optional
	Check *VCenterCheck `json:"check,omitempty"`
	// templates is the number of templates that can be used.
	// +optional
	Templates int32 `json:"templates"`
	// vms is the number of VMs below the root folder that carry this installation's stamp.
	// +optional
	VMs int32 `json:"vms"`
	// runningTasks is the number of tasks of the operator that were running when status was last written.
	// +optional
	RunningTasks int32 `json:"runningTasks"`
	// readyVMs is the number of VMs of VmGroups that use this VCenter that are ready.
	// +optional
	ReadyVMs int32 `json:"readyVMs"`
	// desiredVMs is the number of VMs that these groups want. Groups that are paused or deleted want none.
	// +optional
	DesiredVMs int32 `json:"desiredVMs"`
	// notReady has the VmGroups that are not ready. It is absent if all are ready. Groups that are paused or held are left out.
	// +optional
	NotReady *NotReadyGroups `json:"notReady,omitempty"`
}

// VCenter is a vCenter server that VmGroups can use, on the hub.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=vc
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.status.server`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Templates",type=integer,JSONPath=`.status.templates`
// +kubebuilder:printcolumn:name="VMs",type=integer,JSONPath=`.status.vms`
// +kubebuilder:printcolumn:name="Ready_VMs",type=integer,JSONPath=`.status.readyVMs`
// +kubebuilder:printcolumn:name="Desired_VMs",type=integer,JSONPath=`.status.desiredVMs`
// +kubebuilder:printcolumn:name="Not_Ready",type=integer,JSONPath=`.status.notReady.groups`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type VCenter struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is a vCenter and the grants for its use.
	// +required
	Spec VCenterSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status VCenterStatus `json:"status,omitzero"`
}

// VCenterList is a list of VCenters.
// +kubebuilder:object:root=true
type VCenterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VCenter `json:"items"`
}
