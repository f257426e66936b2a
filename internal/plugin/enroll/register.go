package enroll

import (
	"cmp"
	"context"
	"encoding/base64"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

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
	// Lifetime of the tokens that the operator requests.
	Lifetime time.Duration
	// WebhookURL and FailurePolicy are spec.admission. Fields that are empty are left as they are.
	WebhookURL    string
	FailurePolicy v1alpha1.AdmissionFailurePolicy
	journal       journal
	// before are the conditions of the MemberCluster before this run.
	before []metav1.Condition
}

// UIDOf returns the UID of the cluster that a MemberCluster is pinned to, or that it has shown. It is empty if neither is known.
func UIDOf(mc *v1alpha1.MemberCluster) string {
	return cmp.Or(mc.Spec.ClusterUID, mc.Status.ClusterUID)
}

// secretName is the Secret with both kubeconfigs.
func (r *Registration) secretName() string { return r.Name + "-join" }

// Current returns the MemberCluster, or nil. It fails if another MemberCluster has the cluster, or if this one has another cluster.
func (r *Registration) Current(ctx context.Context) (*v1alpha1.MemberCluster, error) {
	all := &v1alpha1.MemberClusterList{}
	if err := r.Hub.List(ctx, all); err != nil {
		return nil, cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
	}
	var found *v1alpha1.MemberCluster
	for i := range all.Items {
		mc := &all.Items[i]
		uid := UIDOf(mc)
		switch {
		case mc.Name != r.Name && uid == r.ClusterUID:
			return nil, cluster.Usage("The cluster is already MemberCluster %q of this hub. Use that name, or remove it first: kubectl vmgroup member leave %s", mc.Name, mc.Name)
		case mc.Name != r.Name:
		case uid != "" && uid != r.ClusterUID:
			return nil, cluster.Usage("MemberCluster %q of this hub is another cluster (UID %s). Use another name, or the context of that cluster.", r.Name, uid)
		case !mc.DeletionTimestamp.IsZero():
			return nil, cluster.Usage("MemberCluster %q is being deleted. Wait until the deletion ends: kubectl wait --for=delete membercluster/%s", r.Name, r.Name)
		default:
			found = mc
		}
	}
	if found != nil {
		r.before = found.Status.Conditions
	}
	return found, nil
}

// HasCredentials reports whether the member needs no new tokens: the operator uses those of the Secret of this package, for the same address, and
// they are valid.
func (r *Registration) HasCredentials(ctx context.Context, mc *v1alpha1.MemberCluster, address cluster.Address) (bool, error) {
	if mc == nil || !r.refersToSecret(mc) || !meta.IsStatusConditionTrue(mc.Status.Conditions, v1alpha1.ConditionCredentialsValid) {
		return false, nil
	}
	secret := &corev1.Secret{}
	if err := r.Hub.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.secretName()}, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, cluster.Explain(r.Hub.Context, r.Hub.Config.Host, err)
	}
	for _, i := range identities {
		file, err := clientcmd.Load(secret.Data[string(i)])
		if err != nil || file.Clusters["member"] == nil {
			return false, nil //nolint:nilerr // a Secret with other content is written again
		}
		c := file.Clusters["member"]
		if c.Server != address.Server || c.TLSServerName != address.TLSServerName || string(c.CertificateAuthorityData) != string(address.CertificateAuthority) {
			return false, nil
		}
	}
	return true, nil
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
	return changes(len(r.journal.created)-created, r.journal.changed-changed), err
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
