package renewal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=vmgroup-operator-member-tokens-0;vmgroup-operator-member-tokens-1;vmgroup-operator-member-tokens-2;vmgroup-operator-member-tokens-3;vmgroup-operator-member-tokens-4;vmgroup-operator-member-tokens-5;vmgroup-operator-member-tokens-6;vmgroup-operator-member-tokens-7,verbs=update,namespace=system

// secretPrefix begins the names of the Secrets.
const secretPrefix = "vmgroup-operator-member-tokens-"

// shards is the number of Secrets. A Secret has room for the tokens of about 300 members.
const shards = 8

// SecretOf returns the name of the Secret with the tokens of a member.
func SecretOf(member string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(member)) // never fails
	return fmt.Sprintf("%s%d", secretPrefix, h.Sum32()%shards)
}

// Secrets returns the names of all Secrets with tokens.
func Secrets() []string {
	names := make([]string, 0, shards)
	for n := range shards {
		names = append(names, fmt.Sprintf("%s%d", secretPrefix, n))
	}
	return names
}

// Store has the newest token of each identity in Secrets on the hub, which the operator's manifests create. The operator has no permission to create
// them: with that permission, it could create the token of any ServiceAccount in its namespace. Reads come from hub's cache. It is safe for concurrent use.
type Store struct {
	hub       client.Client
	namespace string
}

// NewStore returns a Store in a namespace of the hub. hub must cache the Secrets of that namespace.
func NewStore(hub client.Client, namespace string) *Store { return &Store{hub, namespace} }

// entry is a token with the fingerprint of the kubeconfig that it renews. A token is sent only to the server of that kubeconfig: a user who can
// change a MemberCluster, but no Secret, cannot direct it to another one.
type entry struct {
	For   string `json:"for"`
	Token string `json:"token"`
}

// separator is in no name of a MemberCluster.
const separator = "_"

func keyOf(member, identity string) string { return member + separator + identity }

// Get returns the stored token of an identity, or "" if there is none for a kubeconfig with this fingerprint.
func (s *Store) Get(ctx context.Context, member, identity, fingerprint string) (string, error) {
	secret := &corev1.Secret{}
	err := s.hub.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: SecretOf(member)}, secret)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read Secret %q: %w", SecretOf(member), err)
	}
	stored := entry{}
	if err := json.Unmarshal(secret.Data[keyOf(member, identity)], &stored); err != nil {
		stored = entry{} // an unreadable entry is none, and the next renewal replaces it
	}
	if stored.For != fingerprint {
		return "", nil
	}
	return stored.Token, nil
}

// Put stores a token. The caller tries again later if it fails.
func (s *Store) Put(ctx context.Context, member, identity, fingerprint, token string) error {
	content, err := json.Marshal(entry{fingerprint, token})
	if err != nil {
		return fmt.Errorf("encode the token: %w", err)
	}
	return s.write(ctx, member, func(data map[string][]byte) { data[keyOf(member, identity)] = content })
}

// Drop removes the tokens of a member.
func (s *Store) Drop(ctx context.Context, member string) error {
	return client.IgnoreNotFound(s.write(ctx, member, func(data map[string][]byte) {
		maps.DeleteFunc(data, func(key string, _ []byte) bool { return strings.HasPrefix(key, member+separator) })
	}))
}

// write changes the Secret of a member. The cache can be outdated right after another write, so that a conflict is tried again.
func (s *Store) write(ctx context.Context, member string, change func(map[string][]byte)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { return s.writeOnce(ctx, SecretOf(member), change) })
}

func (s *Store) writeOnce(ctx context.Context, name string, change func(map[string][]byte)) error {
	secret := &corev1.Secret{}
	if err := s.hub.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: name}, secret); err != nil {
		return fmt.Errorf("read Secret %q, which the operator's manifests create: %w", name, err)
	}
	data := maps.Clone(secret.Data)
	if data == nil {
		data = map[string][]byte{}
	}
	change(data)
	if maps.EqualFunc(data, secret.Data, bytes.Equal) {
		return nil
	}
	secret = secret.DeepCopy()
	secret.Data = data
	if err := s.hub.Update(ctx, secret); err != nil {
		return fmt.Errorf("write Secret %q: %w", name, err)
	}
	return nil
}
