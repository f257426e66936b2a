package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// MemberClusterFinalizer holds a MemberCluster until the operator has left it.
	MemberClusterFinalizer = "vm.codeconnect.vmworld.com/membercluster"

	// LocalMember is the name of the hub itself as a member.
	LocalMember = "local"

	// TakeClusterUIDAnnotation on a MemberCluster names a cluster UID that it may take over from a MemberCluster of another
	// name, which had it and has left.
	TakeClusterUIDAnnotation = "vm.codeconnect.vmworld.com/take-cluster-uid"

	// AcceptAdmittedAnnotation on a MemberCluster is the time, as in RFC 3339 and at most an hour ahead, until which the
	// operator accepts what status.admitted shows of groups of which the hub has no record.
	AcceptAdmittedAnnotation = "vm.codeconnect.vmworld.com/accept-admitted-until"

	// AllowMassDeletionAnnotation on a MemberCluster lets any number of its VMs be removed until this time, in RFC 3339. It counts only
	// within the hour before it.
	AllowMassDeletionAnnotation = "vm.codeconnect.vmworld.com/allow-mass-deletion-until"

	// AllowAdoptionAnnotation on a MemberCluster lets its VmGroups adopt VMs for which there is no receipt, because their group vanished, until
	// this time, in RFC 3339. It counts only within the hour before it.
	AllowAdoptionAnnotation = "vm.codeconnect.vmworld.com/allow-adoption-until"
)

// KubeconfigReference names a kubeconfig in a Secret of the operator's namespace.
type KubeconfigReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key in the Secret.
	// +optional
	// +kubebuilder:default=kubeconfig
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// UserDataSecrets says whether groups of a member may hand a Secret to their VMs.
// +kubebuilder:validation:Enum=Deny;Allow
type UserDataSecrets string

// Values of UserDataSecrets.
const (
	UserDataDeny  UserDataSecrets = "Deny"
	UserDataAllow UserDataSecrets = "Allow"
)

// AdmissionFailurePolicy says what a member does when the hub's webhook cannot be reached.
// +kubebuilder:validation:Enum=Ignore;Fail
type AdmissionFailurePolicy string

// Admission failure policies.
const (
	AdmissionIgnore AdmissionFailurePolicy = "Ignore"
	AdmissionFail   AdmissionFailurePolicy = "Fail"
)

// MemberAdmission says how a member reaches the hub's admission webhook.
type MemberAdmission struct {
	// url under which the member's API server reaches the hub's webhook, https only.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == '' || isURL(self) && url(self).getHostname() != '' && !self.matches('^[^:]*://[^/]*@') && url(self).getEscapedPath() in ['', '/'] && !self.contains('?') && !self.contains('#')",message="url must be of the form https://<host>[:port], without a user name, a path, a query or a fragment"
	URL string `json:"url,omitempty"`
	// failurePolicy is Ignore, with which the member allows a request that the webhook does not answer, as far as its own policies do, or Fail, with
	// which it refuses the request.
	// +optional
	// +kubebuilder:default=Ignore
	FailurePolicy AdmissionFailurePolicy `json:"failurePolicy,omitempty"`
}

// Manage says what the operator installs into a member.
// +kubebuilder:validation:Enum=CRDsAndAdmission;None
type Manage string

// Values of Manage.
const (
	// ManageCRDsAndAdmission lets the operator install the CRD and the admission objects.
	ManageCRDsAndAdmission Manage = "CRDsAndAdmission"
	// ManageNone leaves them to somebody else, for example GitOps; `manager render` prints them.
	ManageNone Manage = "None"
)

// MassDeletion says when removals in a member are so many that they wait for somebody's word.
type MassDeletion struct {
	// maxVMs is how many VMs of groups older than an hour may be about to leave, or have left in the last ten minutes, for no other
	// reason than that their groups were deleted or want fewer. With more than that all such removals are held. It is a whole number, or a
	// percentage of the VMs of these groups, of which at least 10 may leave in any case; 100% turns this off. Left out, it is 20%. What one
	// group removes while no other does is never too much.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000000 : self.matches('^(100|[0-9]{1,2})%$')",message="maxVMs must be a whole number from 0 to 1000000, or a percentage from 0% to 100%"
	MaxVMs *intstr.IntOrString `json:"maxVMs,omitempty"`
}

// MemberClusterSpec is how the hub reaches a member cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.clusterUID) || (has(self.clusterUID) && self.clusterUID == oldSelf.clusterUID)",fieldPath=".clusterUID",messageExpression="'spec.clusterUID says which cluster this MemberCluster is, and can neither be changed nor removed. Keep clusterUID: ' + oldSelf.clusterUID + ' in what you write. For another cluster, create another MemberCluster.'",message="spec.clusterUID can neither be changed nor removed"
type MemberClusterSpec struct {
	// kubeconfigSecretRef names the kubeconfig. Kubeconfigs with exec or auth-provider plugins, file paths,
	// insecure TLS or impersonation are refused. It must be left out for the member "local" only.
	// +optional
	KubeconfigSecretRef *KubeconfigReference `json:"kubeconfigSecretRef,omitempty"`
	// bootstrapKubeconfigSecretRef names a kubeconfig of another identity, with which the operator installs the CRDs and
	// the admission objects, so that the one it runs with need not be allowed to. Left out, kubeconfigSecretRef is used.
	// +optional
	BootstrapKubeconfigSecretRef *KubeconfigReference `json:"bootstrapKubeconfigSecretRef,omitempty"`
	// clusterUID is the UID of the namespace kube-system of the cluster that this MemberCluster is pinned to. The operator
	// writes the first one that the cluster shows; any other is refused from then on. Once set it can neither be changed nor
	// removed. Keep it in backups; a manifest that is applied may leave it out.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z][-._0-9A-Za-z]*$`
	ClusterUID string `json:"clusterUID,omitempty"`
	// paused stops every action on the member's groups.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// userDataSecrets is Allow or Deny: whether VmGroups of the member may hand Secrets to their VMs.
	// +optional
	// +kubebuilder:default=Deny
	UserDataSecrets UserDataSecrets `json:"userDataSecrets,omitempty"`
	// admission says how the member reaches the hub's admission webhook.
	// +optional
	Admission *MemberAdmission `json:"admission,omitempty"`
	// manage is CRDsAndAdmission, with which the operator installs CRDs and admission objects into the member, or None, which leaves them to you:
	// `manager render` prints them.
	// +optional
	// +kubebuilder:default=CRDsAndAdmission
	Manage Manage `json:"manage,omitempty"`
	// massDeletion says when removals in the member are so many that they wait for somebody's word.
	// +optional
	MassDeletion *MassDeletion `json:"massDeletion,omitempty"`
}

// MemberClusterStatus is what the operator last saw of a member cluster.
type MemberClusterStatus struct {
	// conditions of the member; see docs/reference/membercluster.md for types and reasons.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the metadata.generation that this status describes. It is -1 until the operator writes status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// clusterUID is the UID of the member's namespace kube-system, by which its groups are known whatever the MemberCluster is
	// called. It is that of spec once the hub has let this MemberCluster have it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ClusterUID string `json:"clusterUID,omitempty"`
	// kubernetesVersion of the member's API server.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// crdVersion is the version of the VmGroup CRD in the member.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CRDVersion string `json:"crdVersion,omitempty"`
	// groups is the number of VmGroups in the member.
	// +optional
	Groups int32 `json:"groups"`
	// vms is the number of VMs of those groups.
	// +optional
	VMs int32 `json:"vms"`
	// readyVMs is the number of VMs of these groups that are ready.
	// +optional
	ReadyVMs int32 `json:"readyVMs"`
	// desiredVMs is the number of VMs that these groups want. Groups that are paused or deleted want none.
	// +optional
	DesiredVMs int32 `json:"desiredVMs"`
	// notReady has the VmGroups that are not ready. It is absent if all are ready. Groups that are paused or held are left out.
	// +optional
	NotReady *NotReadyGroups `json:"notReady,omitempty"`
	// heldGroups is the number of VmGroups whose removal of VMs is held as part of a mass deletion.
	// +optional
	HeldGroups int32 `json:"heldGroups,omitempty"`
	// heldVMs is the number of VMs that these groups would remove.
	// +optional
	HeldVMs int32 `json:"heldVMs,omitempty"`
	// lastContactTime is when the member last answered before its state changed; it is not a heartbeat.
	// +optional
	LastContactTime *metav1.Time `json:"lastContactTime,omitempty"`
	// caBundleHash is the hash of the CA bundle that the member acknowledged.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	CABundleHash string `json:"caBundleHash,omitempty"`
	// segmentPeriod is the number of the period whose path segment the member acknowledged: it calls the hub's webhooks by that one. 0 is the
	// segment that does not change.
	// +optional
	SegmentPeriod int64 `json:"segmentPeriod,omitempty"`
}

// MemberCluster is a Kubernetes cluster whose VmGroups this hub serves. The object named "local" is the hub itself.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=mc
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Kubernetes",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="CRD",type=string,JSONPath=`.status.crdVersion`
// +kubebuilder:printcolumn:name="Groups",type=integer,JSONPath=`.status.groups`
// +kubebuilder:printcolumn:name="VMs",type=integer,JSONPath=`.status.vms`
// +kubebuilder:printcolumn:name="Ready_VMs",type=integer,JSONPath=`.status.readyVMs`
// +kubebuilder:printcolumn:name="Desired_VMs",type=integer,JSONPath=`.status.desiredVMs`
// +kubebuilder:printcolumn:name="Not_Ready",type=integer,JSONPath=`.status.notReady.groups`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40",message="a MemberCluster's name may have at most 40 characters: it names a vCenter folder and is part of a URL"
// +kubebuilder:validation:XValidation:rule="(self.metadata.name == 'local') != has(self.spec.kubeconfigSecretRef)",message="spec.kubeconfigSecretRef is required, and must be left out only for the member named local, which is the hub itself"
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'local' || !has(self.spec.bootstrapKubeconfigSecretRef)",message="spec.bootstrapKubeconfigSecretRef must be left out for the member named local, which is the hub itself"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.admission) || !has(self.spec.admission.url) || self.spec.admission.url.size() == 0 || self.spec.admission.url.startsWith('https://')",message="spec.admission.url must begin with https://"
type MemberCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is how the hub reaches the member.
	// +required
	Spec MemberClusterSpec `json:"spec"`
	// status is what the operator last saw.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status MemberClusterStatus `json:"status,omitzero"`
}

// MemberClusterList is a list of MemberClusters.
// +kubebuilder:object:root=true
type MemberClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MemberCluster `json:"items"`
}
