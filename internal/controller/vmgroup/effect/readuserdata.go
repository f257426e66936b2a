package effect

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// UserDataKey is the key of user data for cloud-init in a Secret, and ignitionKey that of user data for Ignition.
const (
	UserDataKey = "userdata"
	ignitionKey = "ignition"
)

// readUserData reads the user data Secrets of a decision: the one of spec, and those of older revisions.
type readUserData struct{}

// Do implements Effect.
func (readUserData) Do(ctx context.Context, p *Pass, s *group.Snapshot, d group.Decision) (_ Outcome, err error) {
	s.UserData, err = readSecrets(ctx, p.Live, s, d.Secrets)
	return Outcome{}, err
}

// readSecrets reads Secrets by name. All of them together have as much time as one.
func readSecrets(ctx context.Context, live client.Reader, s *group.Snapshot, names []string) (map[string]*group.UserDataAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	answers := make(map[string]*group.UserDataAnswer, len(names))
	for _, name := range names {
		answer, err := readSecret(ctx, live, s, name)
		if err != nil {
			return nil, err
		}
		answers[name] = answer
	}
	return answers, nil
}

// readSecret reads a user data Secret from the API server, and only before a clone: the operator keeps no Secrets of members in
// memory.
func readSecret(ctx context.Context, live client.Reader, s *group.Snapshot, name string) (*group.UserDataAnswer, error) {
	blocked := func(reason, format string, args ...any) (*group.UserDataAnswer, error) {
		return &group.UserDataAnswer{Blocked: &plan.Blocker{Reason: reason, Terminal: true, Message: fmt.Sprintf(format, args...)}}, nil
	}
	if s.UserDataDenied {
		return blocked(v1alpha1.ReasonUserDataDenied, "spec.userDataSecretRef is set, but MemberCluster %q does not allow it; remove it, or ask a hub administrator to set userDataSecrets: Allow", s.Member)
	}
	var secret corev1.Secret
	err := live.Get(ctx, types.NamespacedName{Namespace: s.Group.Namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return blocked(v1alpha1.ReasonUserDataNotFound, "Secret %q of spec.userDataSecretRef does not exist in namespace %q; create it", name, s.Group.Namespace)
	case apierrors.IsForbidden(err):
		return blocked(v1alpha1.ReasonUserDataDenied, "the operator may not read Secret %q in namespace %q of member cluster %q; an administrator of the member must grant it get on secrets there", name, s.Group.Namespace, s.Member)
	case err != nil:
		return nil, fmt.Errorf("read Secret %q of spec.userDataSecretRef: %w", name, err)
	case slices.Contains(madeByControllers, secret.Type):
		return blocked(v1alpha1.ReasonUserDataDenied, "Secret %q of spec.userDataSecretRef is of type %s: it is made for something else, and no VM is cloned with it. "+
			"Put key userdata into a Secret of its own, of type %s, and name that one", name, secret.Type, v1alpha1.UserDataType)
	case len(secret.Data[UserDataKey])+len(secret.Data[ignitionKey]) == 0:
		return blocked(v1alpha1.ReasonUserDataNotFound, "Secret %q of spec.userDataSecretRef has no key %q and no key %q; add the first for cloud-init, or the second for Ignition", name, UserDataKey, ignitionKey)
	case !isUserData(&secret):
		return blocked(v1alpha1.ReasonUserDataDenied, "Secret %q of spec.userDataSecretRef is not marked as user data, and no VM is cloned with it: users who can read VMs in vCenter can read user data. "+
			"If it is meant for VMs: kubectl label secret %s -n %s %s=true", name, name, s.Group.Namespace, v1alpha1.UserDataLabel)
	}
	if err := vsphere.CheckGuestValue(secret.Data[UserDataKey]); err != nil {
		return blocked(v1alpha1.ReasonUserDataTooLarge, "user data in Secret %q of spec.userDataSecretRef is too large: %v. Shorten it, or have cloud-init fetch the rest, for example with #include", name, err)
	}
	if err := vsphere.CheckGuestValue(secret.Data[ignitionKey]); err != nil {
		return blocked(v1alpha1.ReasonUserDataTooLarge, "key %q in Secret %q of spec.userDataSecretRef is too large: %v. Shorten it, or have Ignition fetch the rest, with ignition.config.merge", ignitionKey, name, err)
	}
	return &group.UserDataAnswer{Data: secret.Data[UserDataKey], Ignition: secret.Data[ignitionKey]}, nil
}

// isUserData reports whether a Secret is marked as user data. Users who can write a VmGroup are not always allowed to read the
// Secrets of the namespace, and users who can see VMs in vCenter can read their user data.
func isUserData(secret *corev1.Secret) bool {
	return secret.Type == v1alpha1.UserDataType || secret.Labels[v1alpha1.UserDataLabel] == "true"
}

// madeByControllers are the types of Secrets whose content Kubernetes or Helm writes: credentials of a cluster, or releases.
// They contain no user data. Secrets of types that users fill, such as kubernetes.io/tls, can have a key of that name.
var madeByControllers = []corev1.SecretType{corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken, "helm.sh/release.v1"}
