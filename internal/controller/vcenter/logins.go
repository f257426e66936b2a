package vcenter

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;patch,resourceNames=vmgroup-operator-logins,namespace=system

const (
	// LoginSecret is the Secret in which the replicas store logins. The installation creates it empty: an operator with the right to create Secrets could create a
	// token of any ServiceAccount in the namespace.
	LoginSecret = "vmgroup-operator-logins"
	loginKey    = "key"
	loginBook   = "accounts"
)

// LoginMemory is the common memory of all replicas about logins at vCenters. It is a Secret, so that only users who can read the passwords can read it.
type LoginMemory struct {
	// Client of the operator's namespace.
	Client corev1client.SecretInterface

	// missing limits the report of a missing Secret to one.
	missing sync.Once
}

var _ logins.Store = (*LoginMemory)(nil)

// Load implements logins.Store. Unreadable content from another writer counts as empty.
func (m *LoginMemory) Load(ctx context.Context) (logins.Book, error) {
	secret, err := m.Client.Get(ctx, LoginSecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		m.missing.Do(func() {
			log.FromContext(ctx).Error(err, "The replicas do not share what they know of rejected logins, so each allows an account one in 15 minutes. Apply the installation's manifests again",
				"secret", LoginSecret)
		})
		return logins.Book{}, fmt.Errorf("read Secret %s: %w: %w", LoginSecret, logins.ErrNoStore, err)
	}
	if err != nil {
		return logins.Book{}, fmt.Errorf("read Secret %s: %w", LoginSecret, err)
	}
	b := logins.Book{Key: secret.Data[loginKey], Version: secret.ResourceVersion}
	if json.Unmarshal(secret.Data[loginBook], &b.Accounts) != nil {
		b.Accounts = nil
	}
	return b, nil
}

// Save implements logins.Store. It patches, because the rest of the Secret belongs to the installation.
func (m *LoginMemory) Save(ctx context.Context, b logins.Book) error {
	accounts, err := json.Marshal(b.Accounts)
	if err != nil {
		return fmt.Errorf("encode the memory of logins: %w", err)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": b.Version},
		"data":     map[string][]byte{loginKey: b.Key, loginBook: accounts},
	})
	if err != nil {
		return fmt.Errorf("encode the memory of logins: %w", err)
	}
	_, err = m.Client.Patch(ctx, LoginSecret, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return logins.ErrConflict
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", LoginSecret, err)
	}
	return nil
}
