package enroll

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// namespace of the operator's identities in a member.
const namespace = "vmgroup-operator"

// Preparation makes the member side.
type Preparation struct {
	Member  *cluster.Cluster
	UID     string
	Address cluster.Address
	// Lifetime of the tokens, at least ten minutes.
	Lifetime time.Duration
	journal  journal
}

// Rehearse checks, without a change, that the user may create everything that the member needs.
func (p *Preparation) Rehearse(ctx context.Context) error {
	objects, err := memberObjects()
	if err != nil {
		return err
	}
	p.journal.of = p.Member
	return p.journal.rehearse(ctx, objects...)
}

// Objects creates or updates the identities, their roles, and the policy for their tokens. It returns the number of objects, how many of them it
// created, and how many of them differ from before.
func (p *Preparation) Objects(ctx context.Context) (all, created, changed int, err error) {
	objects, err := memberObjects()
	if err != nil {
		return 0, 0, 0, err
	}
	p.journal.of = p.Member
	for _, object := range objects {
		if err := p.journal.apply(ctx, object); err != nil {
			return len(objects), len(p.journal.created), p.journal.changed, err
		}
	}
	return len(objects), len(p.journal.created), p.journal.changed, nil
}

// Tokens requests a token for each identity, bound to the session Secret.
func (p *Preparation) Tokens(ctx context.Context) (*Bundle, error) {
	secret := &corev1.Secret{}
	if err := p.Member.Get(ctx, types.NamespacedName{Namespace: namespace, Name: credential.SessionSecret}, secret); err != nil {
		return nil, cluster.Explain(p.Member.Context, p.Member.Config.Host, err)
	}
	b := &Bundle{Address: p.Address, ClusterUID: p.UID, Tokens: map[Identity]string{}}
	for _, i := range identities {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: i.account()}}
		seconds := int64(p.Lifetime / time.Second)
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: &seconds,
			BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: secret.Name, UID: secret.UID},
		}}
		if err := p.Member.SubResource("token").Create(ctx, account, request); err != nil {
			return nil, fmt.Errorf("request a token for %s: %w", i.account(), cluster.Explain(p.Member.Context, p.Member.Config.Host, err))
		}
		b.Tokens[i] = request.Status.Token
		if ends := request.Status.ExpirationTimestamp.Time; b.Expires.IsZero() || ends.Before(b.Expires) {
			b.Expires = ends
		}
	}
	return b, nil
}

// Undo removes what this preparation has created. It returns an error that names what stays.
func (p *Preparation) Undo(ctx context.Context) error { return p.journal.undo(ctx) }

// Revoke deletes the session Secret, which revokes all tokens that are bound to it. It returns false if there was none.
func Revoke(ctx context.Context, member *cluster.Cluster) (bool, error) {
	err := member.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: credential.SessionSecret}})
	if client.IgnoreNotFound(err) != nil {
		return false, cluster.Explain(member.Context, member.Config.Host, err)
	}
	return err == nil, nil
}
