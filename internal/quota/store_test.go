//go:build unix && !fast

package quota

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// told is a report of a watch.
type told struct {
	key string
	Stored
}

// seen receives the reports of a watch.
type seen chan told

func (n seen) Observe(key string, s Stored) { n <- told{key, s} }

// TestTheLedgerIsSafeOnARealAPIServer: a write replaces only the version that was read, and a watch reports every
// change.
func TestTheLedgerIsSafeOnARealAPIServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	server := localcluster.ForTest(t, "hub")
	client, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	store := &ConfigMaps{Client: client.CoreV1().ConfigMaps("default")}
	news := make(seen, 16)
	watching := make(chan struct{})
	watchCtx, end := context.WithCancel(ctx)
	go func() {
		defer close(watching)
		store.Watch(watchCtx, news)
	}()
	defer func() { end(); <-watching }()
	next := func(key string) Stored {
		t.Helper()
		select {
		case s := <-news:
			if s.key != key {
				t.Errorf("the watch reports key %q, want %q", s.key, key)
			}
			return s.Stored
		case <-time.After(2 * time.Minute):
			t.Fatal("the watch reports nothing")
			return Stored{}
		}
	}
	onlyTheVersionThatWasReadIsReplaced(t, store, next)
	theLedgerIsLost(t, store, next)
	theHeadIsMadeOnceAndAnew(t, store, next)
}

const total = "0123456789abcdef"

func onlyTheVersionThatWasReadIsReplaced(t *testing.T, store *ConfigMaps, next func(string) Stored) {
	t.Helper()
	ctx := t.Context()
	of := func(n int) State { return manyIn(total, n) }
	refused := func(s State, version string) {
		t.Helper()
		if _, err := store.Write(ctx, total, s, version); !errors.Is(err, ErrConflict) {
			t.Errorf("version %q was replaced, which is not what is stored: %v", version, err)
		}
	}
	written := func(s State, version string) string {
		t.Helper()
		version, err := store.Write(ctx, total, s, version)
		if err != nil {
			t.Fatal(err)
		}
		return version
	}

	if s, err := store.Read(ctx, total); err != nil || s.Version != "" {
		t.Fatalf("no ledger is read as %+v, %v", s, err)
	}
	refused(of(1), "7")
	version := written(of(2), "")
	if s := next(total); s.Version != version || !same(s.State, of(2)) {
		t.Errorf("the watch reports version %s, want %s", s.Version, version)
	}
	refused(of(3), "")
	second := written(of(5000), version)
	refused(of(4), version)
	if s, err := store.Read(ctx, total); err != nil || s.Version != second || !same(s.State, of(5000)) {
		t.Errorf("the ledger is read as version %s, want %s: %v", s.Version, second, err)
	}
	if s := next(total); s.Version != second {
		t.Errorf("the watch reports version %s, want %s", s.Version, second)
	}
}

func theLedgerIsLost(t *testing.T, store *ConfigMaps, next func(string) Stored) {
	t.Helper()
	ctx := t.Context()
	stored, err := store.Read(ctx, total)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(ctx, total, "7"); !errors.Is(err, ErrConflict) {
		t.Errorf("another version is deleted: %v", err)
	}
	if err := store.Delete(ctx, total, stored.Version); err != nil {
		t.Fatal(err)
	}
	if s := next(total); s.Version != "" || s.Seen == "" || !s.State.empty() {
		t.Errorf("the watch reports %+v, want a deleted ledger", s)
	}
}

func theHeadIsMadeOnceAndAnew(t *testing.T, store *ConfigMaps, next func(string) Stored) {
	t.Helper()
	ctx := t.Context()
	if err := store.MakeHead(ctx); err != nil {
		t.Fatal(err)
	}
	head := next("")
	if head.State.Set == "" || !head.State.empty() || head.Err != nil {
		t.Errorf("the watch reports %+v", head)
	}
	if err := store.MakeHead(ctx); !errors.Is(err, ErrConflict) {
		t.Errorf("a head that is there is replaced: %v", err)
	}
	if err := store.Client.Delete(ctx, Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := next(""); s.Version != "" || s.Seen == "" {
		t.Errorf("the watch reports %+v, want a deleted head", s)
	}
	if err := store.MakeHead(ctx); err != nil {
		t.Fatal(err)
	}
	if s := next(""); s.State.Set == "" || s.State.Set == head.State.Set {
		t.Errorf("the watch reports set %q", s.State.Set)
	}
}
