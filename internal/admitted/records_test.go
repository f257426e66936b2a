//go:build unix && !fast

package admitted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// replica is one of several that write records concurrently.
type replica struct {
	*Records
	t       testing.TB
	mu      sync.Mutex
	told    map[Key]int
	exists  Existence
	now     time.Time
	leading shardingtest.Leader
}

// Exists implements Groups.
func (r *replica) Exists(context.Context, Key) Existence { return r.exists }

// RecordChanged implements Groups.
func (r *replica) RecordChanged(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told[key]++
}

func (r *replica) wasTold(key Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[key] > 0
}

func start(t testing.TB, client corev1client.ConfigMapInterface) *replica {
	r := &replica{t: t, told: map[Key]int{}, now: time.Unix(1, 0)}
	r.Records = New(Options{
		Client: client, Now: func() time.Time { return r.now }, Leader: &r.leading, Groups: r,
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	r.until("the records are read", func() bool {
		_, _, err := r.Of(Key{})
		return !errors.Is(err, ErrUnread)
	})
	return r
}

func (r *replica) until(what string, done func() bool) {
	r.t.Helper()
	await.True(r.t, what, done)
}

func (r *replica) has(key Key, replicas int32) bool {
	e, found, err := r.Of(key)
	return err == nil && found && e.Admitted.Replicas == replicas
}

func (r *replica) lacks(key Key) bool {
	_, found, err := r.Of(key)
	return err == nil && !found
}

func (r *replica) put(key Key, replicas int32, epoch int64) {
	r.t.Helper()
	if _, err := r.Put(r.t.Context(), key, entry(replicas, epoch)); err != nil {
		r.t.Fatal(err)
	}
	if !r.has(key, replicas) {
		r.t.Fatalf("who wrote a record of %d replicas does not see it", replicas)
	}
}

func entry(replicas int32, epoch int64) Entry {
	return Entry{
		Namespace: "team", Name: "web", Epoch: v1alpha1.Epoch{Generation: epoch},
		Admitted: v1alpha1.Admitted{Revision: "1-abc", Replicas: replicas, VMShape: v1alpha1.VMShape{CPU: 2, Memory: 4, Template: "debian-12"}},
	}
}

func groupNumber(n int) types.UID {
	return types.UID(fmt.Sprintf("6d1b1c5e-0000-4000-8000-%012d", n))
}

func TestRecordsOnARealAPIServer(t *testing.T) {
	server := localcluster.ForTest(t, "hub")
	clients, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	client := clients.CoreV1().ConfigMaps("default")
	wipe := func(t *testing.T) {
		if err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: component.Selector()}); err != nil {
			t.Fatal(err)
		}
	}
	for _, story := range []struct {
		name string
		run  func(*testing.T, corev1client.ConfigMapInterface)
	}{
		{"replicas write beside each other", besideEachOther},
		{"odd UIDs", oddUIDs},
		{"an edit is a small write", smallWrites},
		{"two pages have one group", twoPages},
		{"copied and of another format", copiedAndNewer},
		{"records of deleted groups", goneGroups},
		{"spoilt by hand", spoilt},
	} {
		t.Run(story.name, func(t *testing.T) {
			wipe(t)
			story.run(t, client)
		})
	}
}

func besideEachOther(t *testing.T, client corev1client.ConfigMapInterface) {
	a, b := start(t, client), start(t, client)
	const groups = 60
	var writing sync.WaitGroup
	for n := range groups {
		writer := a
		if n%2 == 1 {
			writer = b
		}
		writing.Go(func() {
			if _, err := writer.Put(t.Context(), Key{"member", groupNumber(n)}, entry(int32(n), 1)); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	for n := range groups {
		key := Key{"member", groupNumber(n)}
		a.until("a sees all", func() bool { return a.has(key, int32(n)) })
		b.until("b sees all", func() bool { return b.has(key, int32(n)) })
		if !a.lacks(Key{"another", groupNumber(n)}) {
			t.Error("another member has a record of a group")
		}
	}
	key := Key{"member", groupNumber(0)}
	a.put(key, 7, 1)
	b.until("b is notified of a change", func() bool { return b.has(key, 7) && b.wasTold(key) })
	b.Drop(key)
	a.until("a sees that the record is deleted", func() bool { return a.lacks(key) })
	if c := start(t, client); !c.has(Key{"member", groupNumber(1)}, 1) || !c.lacks(key) {
		t.Error("a replica that starts does not see what is on record")
	}
	if list, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: component.Selector()}); err != nil || len(list.Items) > groups/3 {
		t.Errorf("%d ConfigMaps for %d groups of one member, %v", len(list.Items), groups, err)
	}
}

func oddUIDs(t *testing.T, client corev1client.ConfigMapInterface) {
	a, b := start(t, client), start(t, client)
	for n, uid := range []types.UID{"", "..", "a/b", "UPPER", types.UID(strings.Repeat("é", 500)), "a\x00b", "sha256.0"} {
		a.put(Key{"member/with odd: letters", uid}, int32(n), 1)
	}
	for n, uid := range []types.UID{"", "..", "a/b", "UPPER", types.UID(strings.Repeat("é", 500)), "a\x00b", "sha256.0"} {
		key := Key{"member/with odd: letters", uid}
		b.until("the other replica sees an odd UID", func() bool { return b.has(key, int32(n)) })
	}
	long := entry(1, 1)
	long.Admitted.Template = strings.Repeat("x", entrySize)
	if _, err := a.Put(t.Context(), Key{"member", "1"}, long); !errors.Is(err, ErrFull) {
		t.Errorf("a record of any length is taken: %v", err)
	}
}

// For each edit, etcd keeps the whole ConfigMap, with the API server's additions.
func smallWrites(t *testing.T, client corev1client.ConfigMapInterface) {
	const most = 4 << 10
	a := start(t, client)
	longest := entry(1, 1)
	name := strings.Repeat("x", 255)
	longest.Namespace, longest.Name = name[:63], name[:253]
	longest.Admitted.Template, longest.Admitted.UserDataSecretRef = name, &v1alpha1.LocalObjectReference{Name: name[:253]}
	longest.Admitted.Placement = &v1alpha1.Placement{ResourcePool: name, Datastore: name, Network: name}
	const groups = 60
	stored := func(key Key) int {
		t.Helper()
		list, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: component.Selector()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if _, here := list.Items[i].Data[string(key.Group)]; here {
				return list.Items[i].Size()
			}
		}
		t.Fatalf("there is no record of %v", key)
		return 0
	}
	all := 0
	for round := range 3 {
		for n := range groups {
			key, e := Key{"member", groupNumber(n)}, entry(int32(round), 1)
			if n%20 == 7 && round > 0 {
				e = longest // its page has no room
			}
			wrote, err := a.Put(t.Context(), key, e)
			if err != nil {
				t.Fatal(err)
			}
			size := stored(key)
			if all += size; size > most || wrote < size {
				t.Errorf("the hub keeps %d bytes for one record, and %d are counted; at most %d may be", size, wrote, most)
			}
		}
	}
	t.Logf("%d bytes on average", all/groups/3)
	b := start(t, client)
	for n := range groups {
		key := Key{"member", groupNumber(n)}
		if e, found, err := b.Of(key); err != nil || !found || (len(e.Namespace) == 63) != (n%20 == 7) {
			t.Errorf("a replica that starts reads %+v, %v", e, err)
		}
	}
}

// A new owner that had not yet observed its predecessor's page has written to another page.
func twoPages(t *testing.T, client corev1client.ConfigMapInterface) {
	key := Key{"member", groupNumber(1)}
	for number, e := range []Entry{entry(5, 2), entry(9, 1)} {
		text, err := encode(e, 1)
		if err != nil {
			t.Fatal(err)
		}
		create(t, client, pageName(key.Member, number), key.Member, format, map[string]string{string(key.Group): text})
	}
	a := start(t, client)
	if !a.has(key, 5) {
		e, _, _ := a.Of(key)
		t.Errorf("the record of an earlier owner counts: %+v", e)
	}
	a.put(key, 6, 3)
	b := start(t, client)
	if !b.has(key, 6) {
		t.Error("the newest record does not count")
	}
	b.Drop(key)
	b.until("no page has it", func() bool { return start(t, client).lacks(key) })
}

func copiedAndNewer(t *testing.T, client corev1client.ConfigMapInterface) {
	text, err := encode(entry(5, 2), 1)
	if err != nil {
		t.Fatal(err)
	}
	uid := groupNumber(1)
	create(t, client, "copy-of-it", "member", format, map[string]string{string(uid): text})
	create(t, client, pageName("another", 0), "member", format, map[string]string{string(uid): text})
	create(t, client, pageName("member", pages), "member", format, map[string]string{string(uid): text})
	create(t, client, pageName("newer", 0), "newer", "2", map[string]string{string(uid): "?"})
	a := start(t, client)
	if !a.lacks(Key{"member", uid}) || !a.lacks(Key{"another", uid}) {
		t.Error("a copy counts as a record")
	}
	if _, _, err := a.Of(Key{"newer", uid}); err == nil || !strings.Contains(err.Error(), pageName("newer", 0)) {
		t.Errorf("a record of a newer version is taken for absent: %v", err)
	}
	if err := client.Delete(t.Context(), pageName("newer", 0), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	a.until("the record of the deleted page is removed", func() bool { return a.lacks(Key{"newer", uid}) })
}

func goneGroups(t *testing.T, client corev1client.ConfigMapInterface) {
	a := start(t, client)
	key := Key{"member", groupNumber(1)}
	collect := func(exists Existence, after time.Duration) {
		a.exists, a.now = exists, a.now.Add(after)
		a.Collect(t.Context())
	}
	a.put(key, 1, 1)
	collect(Absent, 0)
	collect(Absent, 2*absentFor)
	if !a.has(key, 1) {
		t.Error("a replica that does not lead removes records")
	}
	a.leading = true
	collect(Absent, 0)
	collect(Unknown, absentFor)
	collect(Absent, 0)
	collect(Exists, absentFor)
	collect(Departed, 0)
	collect(Departed, departedFor-time.Second)
	b := start(t, client)
	if !b.has(key, 1) {
		t.Fatal("the record of a group that can exist is deleted")
	}
	collect(Departed, time.Second)
	a.until("the record of a member that left is deleted", func() bool { return a.lacks(key) })
	a.put(key, 2, 1)
	collect(Absent, 0)
	collect(Absent, absentFor)
	a.until("the record of a deleted group is deleted", func() bool { return a.lacks(key) })
	a.until("no ConfigMap is left", func() bool {
		a.Collect(t.Context())
		list, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: component.Selector()})
		return err == nil && len(list.Items) == 0
	})
}

func spoilt(t *testing.T, client corev1client.ConfigMapInterface) {
	data := map[string]string{}
	for n, text := range []string{"", "{", `{"group":"team/web","admitted":{}}`, `{"group":"web","admitted":{"cpu":1,"memory":1}}`, `{"group":"team/web","admitted":{"cpu":1,"memory":1,"replicas":-1}}`} {
		data[string(groupNumber(n))] = text
	}
	create(t, client, pageName("member", 0), "member", format, data)
	a := start(t, client)
	for n := range len(data) {
		key := Key{"member", groupNumber(n)}
		if !a.lacks(key) {
			e, _, err := a.Of(key)
			t.Errorf("%q is a record: %+v, %v", data[string(key.Group)], e, err)
		}
	}
	key := Key{"member", groupNumber(1)}
	a.put(key, 3, 1)
	if err := client.Delete(t.Context(), pageName("member", 0), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	a.until("the holder of a group is notified that the record was deleted", func() bool { return a.lacks(key) && a.wasTold(key) })
	a.put(key, 3, 1)
}

func create(t *testing.T, client corev1client.ConfigMapInterface, name, member, format string, data map[string]string) {
	t.Helper()
	object := component.New(name)
	object.Annotations, object.Data = map[string]string{memberAnnotation: member, formatAnnotation: format}, data
	if _, err := client.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
