//go:build unix && e2e

package localcluster_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

func TestAPIProxyDisturbsRequestsAndWatches(t *testing.T) {
	cluster := start(t, localcluster.Options{Name: "proxied"})
	proxy, err := cluster.NewProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	kubeconfig, err := proxy.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	straight := client(t, cluster.Config).CoreV1().ConfigMaps("default")
	maps := client(t, config).CoreV1().ConfigMaps("default")

	t.Run("records writes and their answers, and no reads", func(t *testing.T) {
		proxy.Reset()
		for range 2 { // the second one exists already
			_, _ = maps.Create(t.Context(), configMap("recorded"), metav1.CreateOptions{})
		}
		if _, err := maps.Get(t.Context(), "recorded", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		records := ended(t, proxy, 2)
		for i, status := range []int{http.StatusCreated, http.StatusConflict} {
			r := records[i]
			if r.Verb != "create" || r.Resource != "configmaps" || r.Namespace != "default" || r.Status != status || r.End.Before(r.Start) {
				t.Errorf("record %d is %+v, want status %d", i, r, status)
			}
		}
	})
	t.Run("a lost answer is that of a write that was done", func(t *testing.T) {
		proxy.Hook(func(c localcluster.APICall) faultproxy.Fault {
			if c.Writes() {
				return faultproxy.Fault{Act: faultproxy.CutAfter}
			}
			return faultproxy.Fault{}
		})
		defer proxy.Hook(nil)
		if _, err := maps.Create(t.Context(), configMap("unanswered"), metav1.CreateOptions{}); err == nil {
			t.Error("the client got an answer")
		}
		if _, err := straight.Get(t.Context(), "unanswered", metav1.GetOptions{}); err != nil {
			t.Errorf("the write was not done: %v", err)
		}
	})
	t.Run("a stalled watch delivers in the end what it held", func(t *testing.T) { checkStall(t, proxy, maps, straight) })
}

// checkStall watches through the proxy while watches stall. straight bypasses the proxy.
func checkStall(t *testing.T, proxy *localcluster.APIProxy, maps, straight corev1client.ConfigMapInterface) {
	t.Helper()
	w, err := maps.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=seen"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	proxy.StallWatches(true)
	defer proxy.StallWatches(false)
	if _, err := maps.Create(t.Context(), configMap("seen"), metav1.CreateOptions{}); err != nil {
		t.Fatalf("a write while watches stall: %v", err)
	}
	// Another watch, which bypasses the proxy, shows that the event was sent.
	other, err := straight.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=seen", ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Stop()
	next(t, other)
	select {
	case e := <-w.ResultChan():
		t.Errorf("a stalled watch delivered %v", e)
	case <-time.After(200 * time.Millisecond): // an event that does not come leaves no trace
	}
	proxy.StallWatches(false)
	if e := next(t, w); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != "seen" {
		t.Errorf("it delivered %v", e)
	}
	proxy.CutWatches()
	for range w.ResultChan() { // ends, because a cut watch is closed
	}
}

func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case e := <-w.ResultChan():
		return e
	case <-ctx.Done():
		t.Fatal("no event came")
		return watch.Event{}
	}
}

// ended waits until n ended writes are recorded.
func ended(t *testing.T, proxy *localcluster.APIProxy, n int) (records []localcluster.APIRecord) {
	t.Helper()
	await.NoError(t, "the writes to end", func() error {
		records = proxy.Records()
		// The end of one can be recorded after that of the next one.
		underWay := slices.ContainsFunc(records, func(r localcluster.APIRecord) bool { return r.End.IsZero() })
		if len(records) != n || underWay {
			return fmt.Errorf("the writes are %+v", records)
		}
		return nil
	})
	return records
}
