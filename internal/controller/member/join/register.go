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

// registerName is the ConfigMap in the operator's namespace that remembers which MemberCluster had a cluster last: its data
// has the cluster's UID as key and the MemberCluster's name as value. It outlives MemberClusters.
const registerName = "vmgroup-operator-members"

// register is the hub's memory of clusters. A member may show any UID; whose it was is for the hub to know.
type register struct {
	// read reads the hub itself.
	read      client.Reader
	write     client.Writer
	namespace string

	// mu lets one entry be made at a time, so that those of one replica do not refuse each other.
	mu sync.Mutex
}

// enter notes that the cluster uid is the MemberCluster name's. allow is asked before, with the name that is noted now, "" if none;
// what it refuses is returned, and nothing is written.
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
