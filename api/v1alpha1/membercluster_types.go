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

	// TakeClusterUIDAnnotation on a MemberCluster names a cluster UID that it can take over. The UID belonged to a MemberCluster of another
	// name, which the operator has left.
	TakeClusterUIDAnnotation = "vm.codeconnect.vmworld.com/take-cluster-uid"

	// AcceptAdmittedAnnotation on a MemberCluster is a time, in RFC 3339 and at most an hour ahead. Until then, the operator accepts
	// status.admitted of groups of which the hub has no record.
	AcceptAdmittedAnnotation = "vm.codeconnect.vmworld.com/accept-admitted-until"

	// AllowMassDeletionAnnotation on a MemberCluster allows removal of any number of its VMs until this time, in RFC 3339. It has an effect
	// only within the hour before that time.
	AllowMassDeletionAnnotation = "vm.codeconnect.vmworld.com/allow-mass-deletion-until"

	// AllowAdoptionAnnotation on a MemberCluster allows its VmGroups to adopt VMs whose group vanished without a receipt, until this time,
	// in RFC 3339. It has an effect only within the hour before that time.
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

// UserDataSecrets specifies whether groups of a member can pass a Secret to their VMs.
// +kubebuilder:validation:Enum=Deny;Allow
type UserDataSecrets string

// Values of UserDataSecrets.
const (
	UserDataDeny  UserDataSecrets = "Deny"
	UserDataAllow UserDataSecrets = "Allow"
)

// AdmissionFailurePolicy specifies how a member handles requests when it cannot reach the hub's webhook.
// +kubebuilder:validation:Enum=Ignore;Fail
type AdmissionFailurePolicy string

// Admission failure policies.
const (
	AdmissionIgnore AdmissionFailurePolicy = "Ignore"
	AdmissionFail   AdmissionFailurePolicy = "Fail"
)

// MemberAdmission specifies how a member reaches the hub's admission webhook.
type MemberAdmission struct {
	// url at which the member's API server reaches the hub's webhook, https only.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == '' || isURL(self) && url(self).getHostname() != '' && !self.matches('^[^:]*://[^/]*@') && url(self).getEscapedPath() in ['', '/'] && !self.contains('?') && !self.contains('#')",message="url must be of the form https://<host>[:port], without a user name, a path, a query or a fragment"
	URL string `json:"url,omitempty"`
	// failurePolicy is Ignore or Fail, for requests that the webhook does not answer. With Ignore, the member allows the request if its own
	// policies do. With Fail, it refuses the request.
	// +optional
	// +kubebuilder:default=Ignore
	FailurePolicy AdmissionFailurePolicy `json:"failurePolicy,omitempty"`
}

// Manage specifies the objects that the operator installs into a member.
// +kubebuilder:validation:Enum=CRDsAndAdmission;None
type Manage string

// Values of Manage.
const (
	// ManageCRDsAndAdmission: the operator installs the CRD and the admission objects.
	ManageCRDsAndAdmission Manage = "CRDsAndAdmission"
	// ManageNone: another tool, for example GitOps, installs them; `manager render` prints them.
	ManageNone Manage = "None"
)

// MassDeletion specifies how many removals in a member need confirmation.
type MassDeletion struct {
	// maxVMs is the number of VMs that can be removed without confirmation: VMs about to be removed plus those removed in the last ten
	// minutes. Only VMs of groups older than an hour count, and only if their groups were deleted or scaled down. Above the threshold, the
	// operator holds all such removals. The value is a whole number, or a percentage of the VMs of these groups. With a percentage, at
	// least 10 VMs can be removed in any case, and 100% disables the check. The default is 20%. Removals of a single group, while no other
	// group removes VMs, are never held.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000000 : self.matches('^(100|[0-9]{1,2})%$')",message="maxVMs must be a whole number from 0 to 1000000, or a percentage from 0% to 100%"
	MaxVMs *intstr.IntOrString `json:"maxVMs,omitempty"`
}

// CredentialRenewal specifies who renews the credentials of a member.
// +kubebuilder:validation:Enum=None;ServiceAccountToken
type CredentialRenewal string

// Values of CredentialRenewal.
const (
	// RenewalNone: you renew the kubeconfigs.
	RenewalNone CredentialRenewal = "None"
	// RenewalServiceAccountToken: each ServiceAccount whose token is in a kubeconfig requests its own next token.
	RenewalServiceAccountToken CredentialRenewal = "ServiceAccountToken"
)

// CredentialsSpec specifies how the credentials in a member's kubeconfigs stay valid.
type CredentialsSpec struct {
	// renewal is ServiceAccountToken or None. With ServiceAccountToken, the kubeconfigs must have tokens of ServiceAccounts of the member.
	// The operator requests a new token for each ServiceAccount before its token expires, and keeps it in a Secret of its own. It does not
	// change the Secret of the kubeconfig. With None, you renew the kubeconfigs.
	// +optional
	// +kubebuilder:default=None
	Renewal CredentialRenewal `json:"renewal,omitempty"`
	// tokenLifetimeSeconds is the lifetime that the operator requests for each token, from 10 minutes to 7 days. The member's API server can
	// issue a token with a shorter lifetime. The default is 7 days.
	// +optional
	// +kubebuilder:default=604800
	// +kubebuilder:validation:Minimum=600
	// +kubebuilder:validation:Maximum=604800
	TokenLifetimeSeconds int32 `json:"tokenLifetimeSeconds,omitempty"`
}

// MemberClusterSpec specifies how the hub reaches a member cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.clusterUID) || (has(self.clusterUID) && self.clusterUID == oldSelf.clusterUID)",fieldPath=".clusterUID",messageExpression="'spec.clusterUID says which cluster this MemberCluster is, and can neither be changed nor removed. Keep clusterUID: ' + oldSelf.clusterUID + ' in what you write. For another cluster, create another MemberCluster.'",message="spec.clusterUID can neither be changed nor removed"
type MemberClusterSpec struct {
	// kubeconfigSecretRef names the kubeconfig. Kubeconfigs with exec or auth-provider plugins, file paths, insecure TLS or impersonation
	// are refused. It is required, but must be left out for the member "local".
	// +optional
	KubeconfigSecretRef *KubeconfigReference `json:"kubeconfigSecretRef,omitempty"`
	// bootstrapKubeconfigSecretRef names a kubeconfig of another identity, with which the operator installs the CRDs and the admission
	// objects. The identity of kubeconfigSecretRef then does not need these permissions. If left out, kubeconfigSecretRef is used.
	// +optional
	BootstrapKubeconfigSecretRef *KubeconfigReference `json:"bootstrapKubeconfigSecretRef,omitempty"`
	// credentials specifies how the credentials in these kubeconfigs stay valid.
	// +optional
	Credentials *CredentialsSpec `json:"credentials,omitempty"`
	// clusterUID is the UID of the namespace kube-system of the cluster that this MemberCluster is pinned to. The operator writes the first
	// UID that the cluster shows, and refuses any other from then on. Once set, it can be neither changed nor removed. Keep it in backups.
	// An applied manifest can leave it out.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z][-._0-9A-Za-z]*$`
	ClusterUID string `json:"clusterUID,omitempty"`
	// paused stops every action on the member's groups.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// userDataSecrets is Allow or Deny: whether VmGroups of the member can pass Secrets to their VMs.
	// +optional
	// +kubebuilder:default=Deny
	UserDataSecrets UserDataSecrets `json:"userDataSecrets,omitempty"`
	// admission specifies how the member reaches the hub's admission webhook.
	// +optional
	Admission *MemberAdmission `json:"admission,omitempty"`
	// manage is CRDsAndAdmission or None. With CRDsAndAdmission, the operator installs CRDs and admission objects into the member. With
	// None, you install them: `manager render` prints them.
	// +optional
	// +kubebuilder:default=CRDsAndAdmission
	Manage Manage `json:"manage,omitempty"`
	// massDeletion specifies how many removals in the member need confirmation.
	// +optional
	MassDeletion *MassDeletion `json:"massDeletion,omitempty"`
}

// MemberCredential describes a credential with which the hub reaches a member.
type MemberCredential struct {
	// expirationTime is when the credential expires. It is the expiry of the token or of the client certificate in the kubeconfig, or that
	// of the token that the operator requested last.
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
	// renewalTime is when the operator requests the next token. It is absent if the operator does not renew the credential.
	// +optional
	RenewalTime *metav1.Time `json:"renewalTime,omitempty"`
}

// MemberCredentials describes the credentials with which the hub reaches a member. A credential whose expiry the operator cannot read is
// absent.
type MemberCredentials struct {
	// member is the identity with which the operator serves VmGroups.
	// +optional
	Member *MemberCredential `json:"member,omitempty"`
	// bootstrap is the identity with which the operator installs CRDs and admission objects. It is absent if the MemberCluster has no
	// such identity.
	// +optional
	Bootstrap *MemberCredential `json:"bootstrap,omitempty"`
}

// MemberClusterStatus is the observed state of a member cluster.
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
	// clusterUID is the UID of the member's namespace kube-system. It identifies the member's groups, whatever the name of the
	// MemberCluster. It equals spec.clusterUID once the hub has assigned the UID to this MemberCluster.
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
	// lastContactTime is when the member last responded before its state changed; it is not a heartbeat.
	// +optional
	LastContactTime *metav1.Time `json:"lastContactTime,omitempty"`
	// credentials has the expiry of the credentials with which the hub reaches the member.
	// +optional
	Credentials *MemberCredentials `json:"credentials,omitempty"`
	// caBundleHash is the hash of the CA bundle that the member acknowledged.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	CABundleHash string `json:"caBundleHash,omitempty"`
	// segmentPeriod is the number of the period whose path segment the member acknowledged. The member calls the hub's webhooks with that
	// segment. 0 is the segment that does not change.
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
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'local' || !has(self.spec.credentials)",message="spec.credentials must be left out for the member named local, which is the hub itself"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.admission) || !has(self.spec.admission.url) || self.spec.admission.url.size() == 0 || self.spec.admission.url.startsWith('https://')",message="spec.admission.url must begin with https://"
type MemberCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec specifies how the hub reaches the member.
	// +required
	Spec MemberClusterSpec `json:"spec"`
	// status is the observed state.
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
