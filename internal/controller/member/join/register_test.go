package join

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// book is a register with a clock.
type book struct {
	*Pins
	t        *testing.T
	hub      client.Client
	now      time.Time
	recorded *events.FakeRecorder
}

func newBook(t *testing.T, data map[string]string) *book {
	t.Helper()
	b := &book{t: t, now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), recorded: events.NewFakeRecorder(100)}
	register := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: registerName}, Data: data}
	b.hub = fake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithStatusSubresource(&v1alpha1.MemberCluster{}).WithObjects(register).Build()
	b.Pins = NewPins(b.hub, b.hub, "operator", nothingShown{}, b.recorded, func() time.Time { return b.now })
	return b
}

// join creates a MemberCluster with this pin, and grants it.
func (b *book) join(name, uid, granted string) (string, *remote.Problem, error) {
	b.t.Helper()
	mc := mcOf(name, 1, uid, granted)
	if err := b.hub.Create(b.t.Context(), &mc); err != nil {
		b.t.Fatal(err)
	}
	mc.Status.ClusterUID = granted
	if err := b.hub.Status().Update(b.t.Context(), &mc); err != nil {
		b.t.Fatal(err)
	}
	return b.Pin(b.t.Context(), &mc)
}

func (b *book) leave(name string) {
	b.t.Helper()
	if err := b.hub.Delete(b.t.Context(), &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *book) data() map[string]string {
	b.t.Helper()
	register := &corev1.ConfigMap{}
	if err := b.hub.Get(b.t.Context(), client.ObjectKey{Namespace: "operator", Name: registerName}, register); err != nil {
		b.t.Fatal(err)
	}
	return register.Data
}

// A CI that joins a cluster for each run adds an entry each time.
func TestAClusterThatLeftAYearAgoIsForgotten(t *testing.T) {
	b := newBook(t, map[string]string{"edited": "gone someday", "from-the-future": "gone 2199-01-01"})
	must := func(uid string, refused *remote.Problem, err error) {
		t.Helper()
		if uid == "" || refused != nil || err != nil {
			t.Fatalf("refused: %q, %v, %v", uid, refused, err)
		}
	}
	must(b.join("stays", "uid-stays", ""))
	must(b.join("ci-1", "uid-1", ""))
	b.leave("ci-1")
	must(b.join("ci-2", "uid-2", ""))
	want := map[string]string{
		"uid-stays": "stays", "uid-1": "ci-1 2026-11-29", "uid-2": "ci-2", "edited": "gone 2026-11-29", "from-the-future": "gone 2026-11-29",
	}
	if data := b.data(); fmt.Sprint(data) != fmt.Sprint(want) {
		t.Errorf("the register has %v, want %v", data, want)
	}
	// Another name needs a confirmation for as long as the entry stays.
	b.now = b.now.Add(keepLeft - 24*time.Hour)
	if uid, refused, err := b.join("thief", "uid-1", ""); uid != "" || reasonOf(refused) != v1alpha1.ReasonKnownByAnotherName || err != nil {
		t.Errorf("another name has the cluster: %q, %v, %v", uid, refused, err)
	}
	must(b.join("ci-1", "uid-1", "")) // it comes back
	b.now = b.now.Add(48 * time.Hour)
	must(b.join("ci-3", "uid-3", ""))
	want = map[string]string{"uid-stays": "stays", "uid-1": "ci-1", "uid-2": "ci-2", "uid-3": "ci-3"}
	if data := b.data(); fmt.Sprint(data) != fmt.Sprint(want) {
		t.Errorf("a year later, the register has %v, want %v", data, want)
	}
}

func TestTheRegisterOfClustersSaysWhenItIsNearlyFullAndKeepsServingWhenItIsFull(t *testing.T) {
	// entries have that many bytes.
	entries := func(size int) map[string]string {
		const left = "member-of-a-test-run 2026-11-29"
		data := map[string]string{}
		for i := 0; size > 200; i++ {
			data[fmt.Sprintf("%036d", i)] = left
			size -= 36 + len(left)
		}
		data[strings.Repeat("u", size-len(left))] = left
		return data
	}
	b := newBook(t, entries(nearlyFull-len("uid-first"+"first")))
	if uid, _, err := b.join("first", "uid-first", ""); uid == "" || err != nil || len(b.recorded.Events) != 0 {
		t.Fatalf("before it is nearly full: %q, %v, %d events", uid, err, len(b.recorded.Events))
	}
	if uid, _, err := b.join("second", strings.Repeat("u", 64), ""); uid == "" || err != nil || len(b.recorded.Events) != 1 {
		t.Errorf("nearly full: %q, %v, %d events", uid, err, len(b.recorded.Events))
	}
	full := entries(mostRegistered)
	b = newBook(t, full)
	if uid, refused, err := b.join("new", "uid-new", ""); uid != "" || reasonOf(refused) != v1alpha1.ReasonLimitExceeded || err != nil ||
		!strings.Contains(refused.Message, `ConfigMap "vmgroup-operator-members" in namespace "operator"`) {
		t.Errorf("a cluster joins without a record: %q, %v, %v", uid, refused, err)
	}
	if uid, refused, err := b.join("served", "uid-served", "uid-served"); uid != "uid-served" || refused != nil || !errors.As(err, new(*fullError)) {
		t.Errorf("a member that was granted before is not served: %q, %v, %v", uid, refused, err)
	}
	if len(b.data()) != len(full) {
		t.Error("a full register was written")
	}
}
