package enroll

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// Registration makes the hub side.
type Registration struct {
	Hub *cluster.Cluster
	// Namespace of the operator on the hub.
	Namespace string
	// Name of the MemberCluster.
	Name string
	// ClusterUID of the member.
	ClusterUID string
	// Lifetime of the tokens that the operator requests. Zero leaves it as it is, or is [DefaultLifetime].
	Lifetime time.Duration
	// WebhookURL and FailurePolicy are spec.admission. Empty ones are left as they are.
	WebhookURL    string
	FailurePolicy v1alpha1.AdmissionFailurePolicy
	journal       journal
	// current is the MemberCluster before this run, or nil.
	current *v1alpha1.MemberCluster
}

// DefaultLifetime of tokens.
const DefaultLifetime = 7 * 24 * time.Hour

// UIDOf returns the UID of the cluster that a MemberCluster is pinned to, or that it has shown. It is empty if neither is known.
func UIDOf(mc *v1alpha1.MemberCluster) string {
	return cmp.Or(mc.Spec.ClusterUID, mc.Status.ClusterUID)
}

// secretName is the Secret with both kubeconfigs.
func (r *Registration) secretName() string { return r.Name + "-join" }

// Read reads the MemberCluster, if there is one. It fails if another MemberCluster has the cluster, or if this one has another cluster.
func (r *Registration) Read(ctx context.Context) error {
	all := &v1alpha1.MemberClusterList{}
	if err := r.Hub.List(ctx, all); err != nil {
		return cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
	}
	for i := range all.Items {
		mc := &all.Items[i]
		uid := UIDOf(mc)
		switch {
		case mc.Name != r.Name && uid == r.ClusterUID:
			return cluster.Usage("The cluster is already MemberCluster %q of this hub. Use that name, or remove it first: kubectl vmgroup member leave %s", mc.Name, mc.Name)
		case mc.Name != r.Name:
		case uid != "" && uid != r.ClusterUID:
			return cluster.Usage("MemberCluster %q of this hub is another cluster (UID %s). Use another name, or the context of that cluster.", r.Name, uid)
		case !mc.DeletionTimestamp.IsZero():
			return cluster.Usage("MemberCluster %q is being deleted. Wait until the deletion ends: kubectl wait --for=delete membercluster/%s", r.Name, r.Name)
		default:
			r.current = mc
		}
	}
	if r.current != nil {
		r.keep()
	}
	if r.Lifetime == 0 {
		r.Lifetime = DefaultLifetime
	}
	return nil
}

// Exists reports whether there is a MemberCluster.
func (r *Registration) Exists() bool { return r.current != nil }

// keep takes over what an earlier run has set and this one does not mention: server-side apply would remove it.
func (r *Registration) keep() {
	spec := &r.current.Spec
	if c := spec.Credentials; r.Lifetime == 0 && c != nil && c.Renewal == v1alpha1.RenewalServiceAccountToken {
		r.Lifetime = time.Duration(c.TokenLifetimeSeconds) * time.Second
	}
	if spec.Admission == nil {
		return
	}
	if r.WebhookURL == "" && r.owns("url") {
		r.WebhookURL = spec.Admission.URL
	}
	if r.FailurePolicy == "" && r.owns("failurePolicy") {
		r.FailurePolicy = spec.Admission.FailurePolicy
	}
}

// owns reports whether an earlier run has set a field of spec.admission.
func (r *Registration) owns(field string) bool {
	return slices.ContainsFunc(r.current.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		if e.Manager != fieldManager || e.FieldsV1 == nil {
			return false
		}
		var fields struct {
			Spec struct {
				Admission map[string]json.RawMessage `json:"f:admission"`
			} `json:"f:spec"`
		}
		return json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) == nil && fields.Spec.Admission["f:"+field] != nil
	})
}

// Address returns the address in the Secret of an earlier run, or false.
func (r *Registration) Address(ctx context.Context) (a cluster.Address, found bool, err error) {
	if r.current == nil || !r.refersToSecret(r.current) {
		return a, false, nil
	}
	secret := &corev1.Secret{}
	if err := r.Hub.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.secretName()}, secret); err != nil {
		return a, false, cluster.Explain(r.Hub.Context, r.Hub.Config.Host, client.IgnoreNotFound(err))
	}
	for _, i := range identities {
		of, ok := addressIn(secret.Data[string(i)])
		if !ok || found && !of.Equal(a) {
			return a, false, nil
		}
		a, found = of, true
	}
	return a, found, nil
}

// addressIn returns the address in a kubeconfig of this package.
func addressIn(content []byte) (cluster.Address, bool) {
	file, err := clientcmd.Load(content)
	if err != nil || file.Clusters["member"] == nil {
		return cluster.Address{}, false
	}
	c := file.Clusters["member"]
	return cluster.Address{Server: c.Server, CertificateAuthority: c.CertificateAuthorityData, TLSServerName: c.TLSServerName}, true
}

// HasCredentials reports whether the member needs no new tokens: the operator uses those of the Secret of this package, for the same address, and
// they are valid, as far as the operator knows.
func (r *Registration) HasCredentials(ctx context.Context, address cluster.Address) (bool, error) {
	if r.current == nil || !meta.IsStatusConditionTrue(r.current.Status.Conditions, v1alpha1.ConditionCredentialsValid) {
		return false, nil
	}
	stored, found, err := r.Address(ctx)
	return found && stored.Equal(address), err
}

func (r *Registration) refersToSecret(mc *v1alpha1.MemberCluster) bool {
	refers := func(ref *v1alpha1.KubeconfigReference, i Identity) bool {
		return ref != nil && ref.Name == r.secretName() && ref.Key == string(i)
	}
	return refers(mc.Spec.KubeconfigSecretRef, Member) && refers(mc.Spec.BootstrapKubeconfigSecretRef, Bootstrap)
}

// Rehearse checks, without a change, that the hub accepts the Secret and the MemberCluster.
func (r *Registration) Rehearse(ctx context.Context) error {
	r.journal.of = r.Hub
	return r.journal.rehearse(ctx, r.secret(map[string][]byte{string(Member): nil, string(Bootstrap): nil}), r.memberCluster())
}

// Secret writes the kubeconfigs of a bundle.
func (r *Registration) Secret(ctx context.Context, b *Bundle) error {
	r.journal.of = r.Hub
	data := map[string][]byte{}
	for _, i := range identities {
		content, err := b.kubeconfig(i)
		if err != nil {
			return err
		}
		data[string(i)] = content
	}
	return r.journal.apply(ctx, r.secret(data))
}

// MemberCluster writes the MemberCluster. It returns a description of the change.
func (r *Registration) MemberCluster(ctx context.Context) (string, error) {
	r.journal.of = r.Hub
	created, changed := len(r.journal.created), r.journal.changed
	err := r.journal.apply(ctx, r.memberCluster())
	return changes(1, len(r.journal.created)-created, r.journal.changed-changed), err
}

// Undo removes what this registration has created. It returns an error that names what stays.
func (r *Registration) Undo(ctx context.Context) error { return r.journal.undo(ctx) }

func (r *Registration) secret(data map[string][]byte) *unstructured.Unstructured {
	encoded := map[string]any{}
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString(value)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"namespace": r.Namespace, "name": r.secretName()},
		"data":     encoded,
	}}
}

func (r *Registration) memberCluster() *unstructured.Unstructured {
	spec := map[string]any{
		"clusterUID":                   r.ClusterUID, // a wrong address is then found, and not served
		"kubeconfigSecretRef":          map[string]any{"name": r.secretName(), "key": string(Member)},
		"bootstrapKubeconfigSecretRef": map[string]any{"name": r.secretName(), "key": string(Bootstrap)},
		"credentials": map[string]any{
			"renewal": string(v1alpha1.RenewalServiceAccountToken), "tokenLifetimeSeconds": int64(r.Lifetime / time.Second),
		},
	}
	admission := map[string]any{}
	if r.WebhookURL != "" {
		admission["url"] = r.WebhookURL
	}
	if r.FailurePolicy != "" {
		admission["failurePolicy"] = string(r.FailurePolicy)
	}
	if len(admission) > 0 {
		spec["admission"] = admission
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "MemberCluster",
		"metadata": map[string]any{"name": r.Name},
		"spec":     spec,
	}}
}
