package world

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Member is a cluster that has groups: an API server whose news reach the caches of all replicas in order.
type Member struct {
	scheme *runtime.Scheme
	// hub holds what the group controller reads of the hub. It does not change.
	hub client.Client

	// mu makes a write and its news one step.
	mu     sync.Mutex
	api    client.Client
	made   int
	uids   map[string]string // by the name of the group's folder
	caches []*groupCache
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme))
}

func newMember() (*Member, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	return &Member{
		scheme: scheme, uids: map[string]string{},
		api: clientfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.VmGroup{}).
			WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}).Build(),
		hub: clientfake.NewClientBuilder().WithScheme(scheme).WithObjects(
			&v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			&v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LocalMember}},
		).Build(),
	}, nil
}

// write changes a group and tells everybody.
func (m *Member) write(key types.NamespacedName, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx := context.Background() // what has arrived is carried out, whoever has gone
	if err := do(); err != nil {
		return err
	}
	now := &v1alpha1.VmGroup{}
	err := m.api.Get(ctx, key, now)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read what was written: %w", err)
	}
	for _, c := range m.caches {
		c.news(key, now, err == nil)
	}
	return nil
}

// Create makes a group that wants a number of VMs.
func (m *Member) Create(name string, vms int32) error {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	return m.write(key, func() error {
		m.made++
		group := &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, Generation: 1, CreationTimestamp: metav1.NewTime(time.Now()),
				UID: types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", m.made)),
			},
			Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &vms},
		}
		m.uids[fmt.Sprintf("%s.%s", name, group.UID[:8])] = string(group.UID)
		return m.api.Create(context.Background(), group)
	})
}

// Scale changes the number of VMs that a group wants.
func (m *Member) Scale(name string, vms int32) error {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	return m.write(key, func() error {
		group := &v1alpha1.VmGroup{}
		if err := m.api.Get(context.Background(), key, group); err != nil {
			return err
		}
		group.Spec.Replicas = &vms
		group.Generation++
		return m.api.Update(context.Background(), group)
	})
}

// Delete deletes a group.
func (m *Member) Delete(name string) error {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	return m.write(key, func() error {
		return m.api.Delete(context.Background(), &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	})
}

// Group returns a group as the API server has it, or nil.
func (m *Member) Group(name string) (*v1alpha1.VmGroup, error) {
	group := &v1alpha1.VmGroup{}
	err := m.api.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name}, group)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return group, err
}

// Groups returns all groups.
func (m *Member) Groups() ([]v1alpha1.VmGroup, error) {
	list := &v1alpha1.VmGroupList{}
	err := m.api.List(context.Background(), list)
	return list.Items, err
}

// subscribe fills a cache and keeps it in step.
func (m *Member) subscribe(c *groupCache) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	groups, err := m.Groups()
	for i := range groups {
		c.groups[client.ObjectKeyFromObject(&groups[i])] = &groups[i]
	}
	m.caches = append(m.caches, c)
	return err
}

func (m *Member) unsubscribe(c *groupCache) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.caches {
		if m.caches[i] == c {
			m.caches = append(m.caches[:i:i], m.caches[i+1:]...)
			return
		}
	}
}

// uidOf returns the UID of the group that has a folder.
func (w *World) uidOf(folder string) string {
	w.Member.mu.Lock()
	defer w.Member.mu.Unlock()
	return w.Member.uids[folder]
}
