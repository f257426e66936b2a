package vmgroup

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// userDataKey is the key of a user data Secret that is handed to cloud-init, and ignitionKey that for Ignition.
const (
	userDataKey = "userdata"
	ignitionKey = "ignition"
)

// readSecrets reads user data Secrets, by name: that of spec, and those of older revisions. All of them have as much time as one.
func (p *pass) readSecrets(ctx context.Context, s *group.Snapshot, names []string) (map[string]*group.UserDataAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	answers := make(map[string]*group.UserDataAnswer, len(names))
	for _, name := range names {
		answer, err := p.readUserData(ctx, s, name)
		if err != nil {
			return nil, err
		}
		answers[name] = answer
	}
	return answers, nil
}

// readUserData reads a user data Secret afresh, and only for a clone that is about to be sent: the
// operator keeps no Secrets of members in memory.
func (p *pass) readUserData(ctx context.Context, s *group.Snapshot, name string) (*group.UserDataAnswer, error) {
	blocked := func(reason, format string, args ...any) (*group.UserDataAnswer, error) {
		return &group.UserDataAnswer{Blocked: &plan.Blocker{Reason: reason, Terminal: true, Message: fmt.Sprintf(format, args...)}}, nil
	}
	if s.UserDataDenied {
		return blocked(v1alpha1.ReasonUserDataDenied, "spec.userDataSecretRef is set, but MemberCluster %q does not allow it; remove it, or ask the platform team to set userDataSecrets: Allow", s.Member)
	}
	var secret corev1.Secret
	err := p.live.Get(ctx, types.NamespacedName{Namespace: s.Group.Namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return blocked(v1alpha1.ReasonUserDataNotFound, "Secret %q of spec.userDataSecretRef does not exist in namespace %q; create it", name, s.Group.Namespace)
	case apierrors.IsForbidden(err):
		return blocked(v1alpha1.ReasonUserDataDenied, "the operator may not read Secret %q in namespace %q of member cluster %q; the platform team has to grant it get on secrets there", name, s.Group.Namespace, s.Member)
	case err != nil:
		return nil, fmt.Errorf("read Secret %q of spec.userDataSecretRef: %w", name, err)
	case refusedType(&secret) != "":
		p.noteUserData(s, &secret)
		return blocked(v1alpha1.ReasonUserDataDenied, "%s", group.RefusedUserData(name, refusedType(&secret)))
	case len(secret.Data[userDataKey])+len(secret.Data[ignitionKey]) == 0:
		return blocked(v1alpha1.ReasonUserDataNotFound, "Secret %q of spec.userDataSecretRef has no key %q and no key %q; add the first for cloud-init, or the second for Ignition", name, userDataKey, ignitionKey)
	}
	p.noteUserData(s, &secret)
	if err := vsphere.CheckGuestValue(secret.Data[userDataKey]); err != nil {
		return blocked(v1alpha1.ReasonUserDataTooLarge, "user data in Secret %q of spec.userDataSecretRef is too large: %v. Shorten it, or have cloud-init fetch the rest, for example with #include", name, err)
	}
	if len(secret.Data[ignitionKey]) > 0 && !isUserData(&secret) {
		return blocked(v1alpha1.ReasonUserDataDenied, "Secret %q of spec.userDataSecretRef has key %q and does not say that it is user data. If it is meant for VMs: kubectl label secret %s -n %s %s=true",
			name, ignitionKey, name, s.Group.Namespace, v1alpha1.UserDataLabel)
	}
	if err := vsphere.CheckGuestValue(secret.Data[ignitionKey]); err != nil {
		return blocked(v1alpha1.ReasonUserDataTooLarge, "key %q in Secret %q of spec.userDataSecretRef is too large: %v. Shorten it, or have Ignition fetch the rest, with ignition.config.merge", ignitionKey, name, err)
	}
	return &group.UserDataAnswer{Data: secret.Data[userDataKey], Ignition: secret.Data[ignitionKey]}, nil
}

// isUserData reports whether a Secret says that it is user data. Who writes a VmGroup may not be allowed to read the Secrets of the namespace, and who may look
// into VMs in vCenter reads what they are handed.
func isUserData(secret *corev1.Secret) bool {
	return secret.Type == v1alpha1.UserDataType || secret.Labels[v1alpha1.UserDataLabel] == "true"
}

// madeByControllers are the types of Secrets whose content Kubernetes or Helm writes, to let somebody into a cluster or with all that was installed. Nobody keeps
// user data there. Those of types that people fill, such as kubernetes.io/tls, may have a key of that name beside others.
var madeByControllers = []corev1.SecretType{corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken, "helm.sh/release.v1"}

// refusedType is the type of a Secret of which no VM gets anything, or empty.
func refusedType(secret *corev1.Secret) string {
	if slices.Contains(madeByControllers, secret.Type) {
		return string(secret.Type)
	}
	return ""
}

// seenUserData is what was seen of a user data Secret.
type seenUserData struct {
	secret string
	// at is when somebody looked last. mark is nil while nobody could read the Secret.
	at   time.Time
	mark *group.UserDataMark
}

// noteUserData remembers of the Secret of spec whether it is marked.
func (p *pass) noteUserData(s *group.Snapshot, secret *corev1.Secret) {
	ref := s.Group.Spec.UserDataSecretRef
	if ref == nil || ref.Name != secret.Name || len(ref.Name) > validation.DNS1123SubdomainMaxLength {
		return
	}
	s.UserDataMark = &group.UserDataMark{Secret: secret.Name, Marked: isUserData(secret), Refused: refusedType(secret)}
	p.rememberUserData(s, secret.Name)
}

// lookAtUserData looks whether the Secret of spec is marked. What cannot be read is left to the clone that needs it, which tells of it.
func (p *pass) lookAtUserData(ctx context.Context, s *group.Snapshot) {
	s.UserDataDue = false
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var secret corev1.Secret
	name := s.Group.Spec.UserDataSecretRef.Name
	if err := p.live.Get(ctx, types.NamespacedName{Namespace: s.Group.Namespace, Name: name}, &secret); err != nil {
		log.FromContext(ctx).Info("Could not look whether a Secret is marked as user data", "secret", name, "reason", said(err))
		p.rememberUserData(s, name)
		return
	}
	p.noteUserData(s, &secret)
}

func (p *pass) rememberUserData(s *group.Snapshot, secret string) {
	p.r.memory.change(p.object(s), func(r *remembered) { r.userData = seenUserData{secret, p.now, s.UserDataMark} })
}

// markOf returns what is known of the Secret of a group's spec, and whether it is time to look. One that is marked is not looked at again.
func (u seenUserData) markOf(of *v1alpha1.VmGroup, now time.Time) (mark *group.UserDataMark, due bool) {
	switch ref := of.Spec.UserDataSecretRef; {
	case ref == nil, len(ref.Name) > validation.DNS1123SubdomainMaxLength: // no Secret has a longer name, and nothing is remembered of one
		return nil, false
	case ref.Name != u.secret:
		return nil, true
	}
	return u.mark, (u.mark == nil || !u.mark.Marked || u.mark.Refused != "") && now.Sub(u.at) >= group.UserDataInterval
}
