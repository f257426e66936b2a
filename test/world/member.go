package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted/admittedtest"
)

// Member is a cluster with groups: an API server for these alone, which sends changes to the caches of all replicas in order. It supports
// versions, finalizers and deletion timestamps. (The fake client of controller-runtime supports more, but takes most of a test's time.)
type Member struct {
	mu      sync.Mutex
	version int
	made    int
	groups  map[types.NamespacedName]*v1alpha1.VmGroup
	uids    map[string]string // by the name of the group's folder
	caches  []*groupCache
	// records are the hub's records of these groups' admitted state.
	records admittedtest.Memory
}

var errNoLock = errors.New("a write must be conditional on the version that was read")

func newMember() *Member {
	return &Member{groups: map[types.NamespacedName]*v1alpha1.VmGroup{}, uids: map[string]string{}}
}

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// change replaces a group by the result of do, and notifies all caches. A group in deletion is removed with its last finalizer.
func (m *Member) change(key types.NamespacedName, do func(*v1alpha1.VmGroup) error) (*v1alpha1.VmGroup, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.groups[key]
	if !ok {
		return nil, apierrors.NewNotFound(v1alpha1.Resource("vmgroups"), key.Name)
	}
	now := was.DeepCopy()
	if err := do(now); err != nil {
		return nil, err
	}
	m.store(key, now)
	return now.DeepCopy(), nil
}

// store stores a group and notifies all caches. The caller holds the lock.
func (m *Member) store(key types.NamespacedName, group *v1alpha1.VmGroup) {
	m.version++
	group.ResourceVersion = strconv.Itoa(m.version)
	exists := group.DeletionTimestamp.IsZero() || len(group.Finalizers) > 0
	if m.groups[key] = group; !exists {
		delete(m.groups, key)
	}
	for _, c := range m.caches {
		c.news(key, group, exists)
	}
}

// patch applies a client's patch of status or of the rest, as the API server does for a patch with a resource version.
func (m *Member) patch(sent *v1alpha1.VmGroup, data []byte, status bool) (*v1alpha1.VmGroup, error) {
	var named struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(data, &named); err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	if named.Metadata.ResourceVersion == "" {
		return nil, errNoLock
	}
	return m.change(client.ObjectKeyFromObject(sent), func(group *v1alpha1.VmGroup) error {
		if group.ResourceVersion != named.Metadata.ResourceVersion {
			return apierrors.NewConflict(v1alpha1.Resource("vmgroups"), group.Name, errNoLock)
		}
		if !status {
			group.Finalizers = slices.Clone(sent.Finalizers)
			return nil
		}
		encoded, err := json.Marshal(sent.Status) // the encoding removes fractions of seconds from times
		if err != nil {
			return err
		}
		group.Status = v1alpha1.VmGroupStatus{}
		return json.Unmarshal(encoded, &group.Status)
	})
}

// Create creates a group with a number of VMs.
func (m *Member) Create(name string, vms int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made++
	group := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Generation: 1, CreationTimestamp: metav1.NewTime(time.Now()),
			UID: types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", m.made)),
		},
		Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &vms},
	}
	m.uids[fmt.Sprintf("%s.%s", name, group.UID[:8])] = string(group.UID)
	m.store(keyOf(name), group)
}

// Scale changes the number of VMs of a group.
func (m *Member) Scale(name string, vms int32) error {
	_, err := m.change(keyOf(name), func(group *v1alpha1.VmGroup) error {
		group.Spec.Replicas = &vms
		group.Generation++
		return nil
	})
	return err
}

// Delete deletes a group.
func (m *Member) Delete(name string) error {
	_, err := m.change(keyOf(name), func(group *v1alpha1.VmGroup) error {
		if group.DeletionTimestamp.IsZero() {
			group.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			group.Generation++
		}
		return nil
	})
	return err
}

// Group returns a group from the API server, or nil.
func (m *Member) Group(name string) *v1alpha1.VmGroup {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.groups[keyOf(name)].DeepCopy()
}

// Groups returns all groups. They must not be changed.
func (m *Member) Groups() []*v1alpha1.VmGroup {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.groups))
}

// subscribe fills a cache and keeps it up to date.
func (m *Member) subscribe(c *groupCache) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(c.groups, m.groups)
	m.caches = append(m.caches, c)
}

func (m *Member) unsubscribe(c *groupCache) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.caches = slices.DeleteFunc(m.caches, func(other *groupCache) bool { return other == c })
}

// uidOf returns the UID of the group with a folder.
func (w *World) uidOf(folder string) string {
	w.Member.mu.Lock()
	defer w.Member.mu.Unlock()
	return w.Member.uids[folder]
}
