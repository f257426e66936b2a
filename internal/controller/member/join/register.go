package join

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create,namespace=system
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;update,resourceNames=vmgroup-operator-members,namespace=system

// registerName is the ConfigMap in the operator's namespace that records which MemberCluster had a cluster last: its data has
// the cluster's UID as key and an [entry] as value. It outlives MemberClusters.
const registerName = "vmgroup-operator-members"

const (
	// keepLeft is how long a cluster is remembered whose MemberCluster does not exist any more.
	keepLeft = 365 * 24 * time.Hour
	// mostRegistered is the limit of the register in bytes, because an object in etcd has at most 1 MiB: about 15,000 clusters.
	// From nearlyFull on, each new entry causes an event.
	mostRegistered, nearlyFull = 900 << 10, 700 << 10
)

// entry is the name of a MemberCluster, and for one that does not exist any more, a space and the day on which that was found.
// Each cluster that ever joined has one, for example each cluster of a test run.
type entry string

func (e entry) name() string {
	name, _, _ := strings.Cut(string(e), " ")
	return name
}

// at returns the entry as it is today, or "" if it can be dropped. A date that is not one, or in the future, is today.
func (e entry) at(now time.Time, exists bool) entry {
	name, day, dated := strings.Cut(string(e), " ")
	since, err := time.Parse(time.DateOnly, day)
	switch {
	case exists:
		return entry(name)
	case !dated, err != nil, since.After(now):
		return entry(name + " " + now.UTC().Format(time.DateOnly))
	case now.Sub(since) > keepLeft:
		return ""
	}
	return e
}

// fullError means that the register has no room for another cluster.
type fullError struct{ namespace string }

func (e *fullError) Error() string {
	return fmt.Sprintf("ConfigMap %q in namespace %q has no room for another cluster: remove the entries of clusters that will never join again", registerName, e.namespace)
}

// register is the hub's record of clusters. A member can show any UID, so the hub stores the owner of each.
type register struct {
	// read reads the hub's API server.
	read      client.Reader
	write     client.Writer
	namespace string
	now       func() time.Time

	// mu serializes entries, so that those of one replica do not conflict.
	mu sync.Mutex
}

// enter records that the cluster uid belongs to the MemberCluster name. all are the MemberClusters of the hub. It first calls allow
// with the name that is registered now, "" if none. If allow refuses, enter returns the refusal and writes nothing. A write drops the
// clusters that left long ago. near is true if there is room for few more; without room, the error is a [fullError].
func (r *register) enter(ctx context.Context, name, uid string, all sets.Set[string], allow func(holder string) *remote.Problem) (refused *remote.Problem, near bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	book := &corev1.ConfigMap{}
	err = r.read.Get(ctx, types.NamespacedName{Namespace: r.namespace, Name: registerName}, book)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, false, fmt.Errorf("read ConfigMap %q, which says whose a cluster is: %w", registerName, err)
	}
	holder := entry(book.Data[uid]).name()
	if refused := allow(holder); refused != nil || holder == name {
		return refused, false, nil
	}
	size := r.tidy(book, all)
	book.Data[uid] = name
	if size += len(uid) + len(name); size > mostRegistered {
		return nil, false, &fullError{r.namespace}
	}
	if missing {
		book.ObjectMeta = metav1.ObjectMeta{Namespace: r.namespace, Name: registerName,
			Labels: map[string]string{"app.kubernetes.io/managed-by": "vmgroup-operator"}}
		err = r.write.Create(ctx, book)
	} else {
		err = r.write.Update(ctx, book)
	}
	if err != nil {
		return nil, false, fmt.Errorf("write ConfigMap %q, which says whose a cluster is: %w", registerName, err)
	}
	return nil, size > nearlyFull, nil
}

// tidy dates and drops the entries of clusters that left, and returns the size of the others in bytes.
func (r *register) tidy(book *corev1.ConfigMap, all sets.Set[string]) (size int) {
	now, kept := r.now(), make(map[string]string, len(book.Data)+1)
	for uid, value := range book.Data {
		if is := entry(value).at(now, all.Has(entry(value).name())); is != "" {
			kept[uid] = string(is)
			size += len(uid) + len(is)
		}
	}
	book.Data = kept
	return size
}
