package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/renewal"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/kubeconfig"
)

// defaultKubeconfigKey is the schema's default of a KubeconfigReference's key.
const defaultKubeconfigKey = "kubeconfig"

// credentials connect to a member.
type credentials struct {
	runtime *rest.Config
	// bootstrap is nil if the member has no bootstrap identity.
	bootstrap *rest.Config
	// token and bootstrapToken belong to these configurations, which do not have them; see settings.Target.
	token, bootstrapToken *remote.Token
	// fingerprint of both, without the values of their tokens.
	fingerprint string
	// renewal specifies how the operator renews the tokens.
	renewal settings.Renewal
	// held are both, as status describes them.
	held []credential.Held
}

// settingsOf returns the settings of a MemberCluster.
func settingsOf(mc *v1alpha1.MemberCluster) fleet.Settings {
	s := fleet.Settings{Paused: mc.Spec.Paused, UserDataSecrets: mc.Spec.UserDataSecrets, CRDVersion: mc.Status.CRDVersion, Predecessor: mc.Annotations[v1alpha1.PredecessorAnnotation]}
	if m := mc.Spec.MassDeletion; m != nil {
		s.MassDeletion = massdeletion.LimitOf(m.MaxVMs)
	}
	s.AllowedUntil = allowance.Until(mc, v1alpha1.AllowMassDeletionAnnotation)
	s.AcceptAdmitted = allowance.Until(mc, v1alpha1.AcceptAdmittedAnnotation)
	s.ForgetAllowed = allowance.Until(mc, v1alpha1.AllowForgetAnnotation)
	s.AdoptionUntil = allowance.Until(mc, v1alpha1.AllowAdoptionAnnotation)
	return s
}

func admissionSettingsOf(spec *v1alpha1.MemberClusterSpec) settings.Admission {
	result := settings.Admission{FailurePolicy: v1alpha1.AdmissionIgnore}
	if spec.Admission != nil {
		result.URL = spec.Admission.URL
		result.FailurePolicy = cmp.Or(spec.Admission.FailurePolicy, v1alpha1.AdmissionIgnore)
	}
	return result
}

// targetOf is the target that mc specifies; clusterUID is the cluster that it can have.
func targetOf(mc *v1alpha1.MemberCluster, clusterUID string, found credentials) settings.Target {
	result := settings.Target{
		Name:        mc.Name,
		UID:         mc.UID,
		Created:     mc.CreationTimestamp.Time,
		Fingerprint: fmt.Sprintf("%s/%s/%s/%s/%s/%s", mc.UID, clusterUID, mc.Spec.Manage, mc.Annotations[v1alpha1.PredecessorAnnotation], found.fingerprint, found.renewal.Lifetime),
		Predecessor: mc.Annotations[v1alpha1.PredecessorAnnotation],
		Config:      found.runtime,
		Token:       found.token,

		Bootstrap: found.bootstrap, BootstrapToken: found.bootstrapToken, Renewal: found.renewal,
		Manage:    mc.Spec.Manage,
		Settings:  settingsOf(mc),
		Admission: admissionSettingsOf(&mc.Spec),
		KnownUID:  clusterUID,
	}
	if mc.Spec.KubeconfigSecretRef != nil {
		result.Secret = mc.Spec.KubeconfigSecretRef.Name
	}
	if meta.IsStatusConditionTrue(mc.Status.Conditions, v1alpha1.ConditionCRDInstalled) {
		result.EquippedUID = mc.Status.ClusterUID
	}
	return result
}

// credentials returns the credentials of the member, or the problem with them. If only the bootstrap identity has a
// problem, it returns the other one as well: leaving a member needs any identity that works.
func (r *Reconciler) credentials(ctx context.Context, mc *v1alpha1.MemberCluster) (credentials, *remote.Problem, error) {
	opts := r.provider.Options()
	if mc.Name == v1alpha1.LocalMember {
		if !opts.Local && mc.DeletionTimestamp.IsZero() {
			return credentials{}, &remote.Problem{Reason: v1alpha1.ReasonLocalDisabled, Lasting: true,
				Message: "The hub itself is not served: the manager runs without --enable-local-member."}, nil
		}
		return credentials{runtime: opts.HubConfig, fingerprint: "hub"}, nil, nil
	}
	if mc.Spec.KubeconfigSecretRef == nil {
		return credentials{}, &remote.Problem{Reason: v1alpha1.ReasonKubeconfigNotFound, Lasting: true,
			Message: "spec.kubeconfigSecretRef is missing."}, nil
	}
	var result credentials
	var failed *remote.Problem
	var err error
	if result.runtime, failed, err = r.kubeconfig(ctx, mc, credential.Member, mc.Spec.KubeconfigSecretRef); failed != nil || err != nil {
		return credentials{}, failed, err
	}
	result.renewal = settings.Renewal{Lifetime: lifetimeOf(&mc.Spec), Config: credential.Fingerprint(result.runtime)}
	if failed, err = r.useRenewed(ctx, mc, credential.Member, mc.Spec.KubeconfigSecretRef, result.runtime); failed != nil || err != nil {
		return credentials{}, failed, err
	}
	result.held = append(result.held, r.held(mc, credential.Member, mc.Spec.KubeconfigSecretRef, result.runtime))
	result.fingerprint, result.token = result.renewal.Config, tokenOf(result.runtime)
	ref := mc.Spec.BootstrapKubeconfigSecretRef
	if ref == nil {
		return result, nil, nil
	}
	bootstrap, failed, err := r.kubeconfig(ctx, mc, credential.Bootstrap, ref)
	if bootstrap != nil {
		result.renewal.Bootstrap = credential.Fingerprint(bootstrap)
		if failed, err = r.useRenewed(ctx, mc, credential.Bootstrap, ref, bootstrap); failed != nil || err != nil {
			bootstrap = nil
		}
	}
	if failed != nil {
		failed.Message = "spec.bootstrapKubeconfigSecretRef: " + failed.Message
	}
	result.bootstrap = bootstrap
	if bootstrap != nil {
		result.held = append(result.held, r.held(mc, credential.Bootstrap, ref, bootstrap))
		result.fingerprint += "/" + result.renewal.Bootstrap
		result.bootstrapToken = tokenOf(bootstrap)
	}
	return result, failed, err
}

func (r *Reconciler) held(mc *v1alpha1.MemberCluster, identity string, ref *v1alpha1.KubeconfigReference, config *rest.Config) credential.Held {
	opts := r.provider.Options()
	h := credential.Held{MemberCluster: mc.Name, Identity: identity, Namespace: opts.Namespace, Secret: ref.Name, Key: keyOf(ref), Expires: credential.Expiry(config)}
	if account, ok := credential.AccountOf(config.BearerToken); ok && lifetimeOf(&mc.Spec) > 0 {
		h.Account = account.Namespace + "/" + account.Name
		h.Renews = renewal.Due(account, opts.Timings.RenewAfter, mc.Name, identity)
	}
	return h
}

// lifetimeOf is the lifetime of the tokens that the operator requests, or zero if it renews none.
func lifetimeOf(spec *v1alpha1.MemberClusterSpec) time.Duration {
	if c := spec.Credentials; c != nil && c.Renewal == v1alpha1.RenewalServiceAccountToken {
		return time.Duration(c.TokenLifetimeSeconds) * time.Second
	}
	return 0
}

// useRenewed replaces the token of a kubeconfig by the newest one, which the operator has requested, or returns why it cannot renew it.
func (r *Reconciler) useRenewed(ctx context.Context, mc *v1alpha1.MemberCluster, identity string, ref *v1alpha1.KubeconfigReference, config *rest.Config) (*remote.Problem, error) {
	if lifetimeOf(&mc.Spec) == 0 {
		return nil, nil
	}
	if _, ok := credential.AccountOf(config.BearerToken); !ok {
		return &remote.Problem{Reason: v1alpha1.ReasonKubeconfigRefused, Lasting: true, Message: fmt.Sprintf(
			"spec.credentials.renewal is ServiceAccountToken, and the kubeconfig in Secret %q, key %q, has no token of a ServiceAccount with an expiry. Write a kubeconfig with such a token "+
				"into the Secret, or set spec.credentials.renewal to None.", ref.Name, keyOf(ref))}, nil
	}
	stored, err := r.provider.Options().Tokens.Get(ctx, mc.Name, identity, credential.Fingerprint(config))
	if err != nil {
		return nil, err
	}
	config.BearerToken = credential.Newer(config.BearerToken, stored)
	return nil, nil
}

// tokenOf takes the token out of a configuration. It returns nil if there is none.
func tokenOf(config *rest.Config) *remote.Token {
	if config.BearerToken == "" {
		return nil
	}
	token := remote.NewToken(config.BearerToken)
	config.BearerToken = ""
	return token
}

func keyOf(ref *v1alpha1.KubeconfigReference) string { return cmp.Or(ref.Key, defaultKubeconfigKey) }

// kubeconfig returns the configuration in a Secret, or the problem with it.
func (r *Reconciler) kubeconfig(ctx context.Context, mc *v1alpha1.MemberCluster, identity string, ref *v1alpha1.KubeconfigReference) (*rest.Config, *remote.Problem, error) {
	opts := r.provider.Options()
	key := keyOf(ref)
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, types.NamespacedName{Namespace: opts.Namespace, Name: ref.Name}, secret); err != nil {
		if !apierrors.IsNotFound(err) {
			return nil, nil, fmt.Errorf("read Secret %q: %w", ref.Name, err)
		}
		return nil, &remote.Problem{Reason: v1alpha1.ReasonKubeconfigNotFound, Lasting: true, Message: fmt.Sprintf(
			"There is no Secret %q in namespace %q. Create it; it is picked up at once.", ref.Name, opts.Namespace)}, nil
	}
	content, ok := secret.Data[key]
	if !ok {
		return nil, &remote.Problem{Reason: v1alpha1.ReasonKubeconfigNotFound, Lasting: true, Message: fmt.Sprintf(
			"Secret %q in namespace %q has no key %q.", ref.Name, opts.Namespace, key)}, nil
	}
	config, err := r.parsed.parse(mc.Name, identity, content)
	var refused *kubeconfig.RefusedError
	if errors.As(err, &refused) {
		return nil, &remote.Problem{Reason: v1alpha1.ReasonKubeconfigRefused, Lasting: true, Message: fmt.Sprintf(
			"Secret %q, key %q: %s.", ref.Name, key, refused.Error())}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return config, nil, nil
}
