package quotatest

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/codeconnect/vmgroup-operator/internal/quota"
)

// List reads the ledgers of all totals that an operator has stored, by key.
func List(ctx context.Context, configMaps corev1client.ConfigMapInterface) (map[string]quota.Stored, error) {
	list, err := configMaps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the ledgers of quotas: %w", err)
	}
	store, all := &quota.ConfigMaps{Client: configMaps}, map[string]quota.Stored{}
	for i := range list.Items {
		key, ok := strings.CutPrefix(list.Items[i].Name, quota.Name+"-")
		if !ok {
			continue
		}
		if all[key], err = store.Read(ctx, key); err != nil {
			return nil, err
		}
	}
	return all, nil
}
