package configmaps_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/codeconnect/vmgroup-operator/internal/configmaps"
	"github.com/codeconnect/vmgroup-operator/internal/receipts/receiptstest"
)

// asked is a client that records requests.
type asked struct {
	*receiptstest.ConfigMaps
	selectors chan string
}

func (a asked) List(ctx context.Context, o metav1.ListOptions) (*corev1.ConfigMapList, error) {
	a.selectors <- o.LabelSelector
	return a.ConfigMaps.List(ctx, o)
}

func (a asked) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	a.selectors <- o.LabelSelector
	return a.ConfigMaps.Watch(ctx, o)
}

// watcher passes on the reports of a watch.
type watcher struct {
	seen, gone chan *corev1.ConfigMap
	synced     chan struct{}
}

func (w watcher) Seen(o *corev1.ConfigMap) { w.seen <- o }
func (w watcher) Gone(o *corev1.ConfigMap) { w.gone <- o }
func (w watcher) Synced()                  { close(w.synced) }

func TestAWatchAsksForItsComponentAndTellsWhatIsThere(t *testing.T) {
	client := asked{&receiptstest.ConfigMaps{}, make(chan string, 10)}
	const part = configmaps.Component("part")
	object := part.New("one")
	object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "another-writer"}}
	if _, err := client.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told := watcher{make(chan *corev1.ConfigMap, 10), make(chan *corev1.ConfigMap, 10), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		part.Watch(ctx, client, told)
	}()
	defer func() { cancel(); <-ended }()
	for range 2 { // a list and a watch
		if selector := <-client.selectors; selector != "app.kubernetes.io/component=part" {
			t.Errorf("asked for is %q", selector)
		}
	}
	if o := <-told.seen; o.Name != "one" || o.ManagedFields != nil {
		t.Errorf("the watch reports %+v", o)
	}
	<-told.synced
	if err := client.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if o := <-told.gone; o.Name != "one" {
		t.Errorf("gone is %+v", o)
	}
}
