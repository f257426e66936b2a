package join

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create,namespace=system
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;update,resourceNames=vmgroup-operator-members,namespace=system

// registerName is the ConfigMap in the operator's namespace that records which MemberCluster had a cluster last: its data has
// the cluster's UID as key and the MemberCluster's name as value. It outlives MemberClusters.
const registerName = "vmgroup-operator-members"

// register is the hub's record of clusters. A member can show any UID, so the hub stores the owner of each.
type register struct {
	// read reads the hub's API server.
	read      client.Reader
	write     client.Writer
	namespace string

	// mu serializes entries, so that those of one replica do not conflict.
	mu sync.Mutex
}

// enter records that the cluster uid belongs to the MemberCluster name. It first calls allow with the name that is registered now,
// "" if none. If allow refuses, enter returns the refusal and writes nothing.
func (r *register) enter(ctx context.Context, name, uid string, allow func(holder string) *remote.Problem) (*remote.Problem, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	book := &corev1.ConfigMap{}
	err := r.read.Get(ctx, types.NamespacedName{Namespace: r.namespace, Name: registerName}, book)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, fmt.Errorf("read ConfigMap %q, which says whose a cluster is: %w", registerName, err)
	}
	holder := book.Data[uid]
	if refused := allow(holder); refused != nil || holder == name {
		return refused, nil
	}
	if book.Data == nil {
		book.Data = map[string]string{}
	}
	book.Data[uid] = name
	if missing {
		book.ObjectMeta = metav1.ObjectMeta{Namespace: r.namespace, Name: registerName,
			Labels: map[string]string{"app.kubernetes.io/managed-by": "vmgroup-operator"}}
		err = r.write.Create(ctx, book)
	} else {
		err = r.write.Update(ctx, book)
	}
	if err != nil {
		return nil, fmt.Errorf("write ConfigMap %q, which says whose a cluster is: %w", registerName, err)
	}
	return nil, nil
}
