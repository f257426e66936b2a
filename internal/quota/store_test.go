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

// told is what a watch tells.
type told struct {
	key string
	Stored
}

// seen takes what a watch tells.
type seen chan told

func (n seen) Observe(key string, s Stored) { n <- told{key, s} }

// TestTheLedgerIsSafeOnARealAPIServer: only the version that was read is replaced, and a watch tells of every change.
func TestTheLedgerIsSafeOnARealAPIServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	server, err := localcluster.StartControlPlane(ctx, localcluster.Options{Name: "hub"})
	if err != nil {
		t.Fatalf("start an API server: %v", err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
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
				t.Errorf("the watch tells of %q, want %q", s.key, key)
			}
			return s.Stored
		case <-time.After(2 * time.Minute):
			t.Fatal("the watch tells nothing")
			return Stored{}
		}
	}
	for key, of := range map[string]func(int) State{"": many, total: func(n int) State { return manyIn(total, n) }} {
		onlyTheVersionThatWasReadIsReplaced(t, store, next, key, of)
	}
	theLedgerIsSplitAndLost(t, store, next)
}

const total = "0123456789abcdef"

func onlyTheVersionThatWasReadIsReplaced(t *testing.T, store *ConfigMaps, next func(string) Stored, key string, of func(int) State) {
	t.Helper()
	ctx := t.Context()
	refused := func(key string, s State, version string) {
		t.Helper()
		if _, err := store.Write(ctx, key, s, version); !errors.Is(err, ErrConflict) {
			t.Errorf("version %q was replaced, which is not what is stored: %v", version, err)
		}
	}
	written := func(key string, s State, version string) string {
		t.Helper()
		version, err := store.Write(ctx, key, s, version)
		if err != nil {
			t.Fatal(err)
		}
		return version
	}

	if s, err := store.Read(ctx, key); err != nil || s.Version != "" {
		t.Fatalf("no ledger is read as %+v, %v", s, err)
	}
	refused(key, of(1), "7")
	version := written(key, of(2), "")
	if s := next(key); s.Version != version || !same(s.State, of(2)) {
		t.Errorf("the watch tells version %s, want %s", s.Version, version)
	}
	refused(key, of(3), "")
	second := written(key, of(5000), version)
	refused(key, of(4), version)
	if s, err := store.Read(ctx, key); err != nil || s.Version != second || !same(s.State, of(5000)) {
		t.Errorf("the ledger is read as version %s, want %s: %v", s.Version, second, err)
	}
	if s := next(key); s.Version != second {
		t.Errorf("the watch tells version %s, want %s", s.Version, second)
	}
}

// theLedgerIsSplitAndLost: the ledger of all totals is replaced by the word that each has its own, and only at the version that was split.
func theLedgerIsSplitAndLost(t *testing.T, store *ConfigMaps, next func(string) Stored) {
	t.Helper()
	ctx := t.Context()
	whole, err := store.Read(ctx, "")
	if err != nil || whole.Format != formatWhole {
		t.Fatalf("read as %+v, %v", whole, err)
	}
	if err := store.Mark(ctx, "7"); !errors.Is(err, ErrConflict) {
		t.Errorf("another version is replaced: %v", err)
	}
	if err := store.Mark(ctx, whole.Version); err != nil {
		t.Fatal(err)
	}
	if s := next(""); s.Format != formatTotals || s.State.Set != whole.Next || !s.State.empty() {
		t.Errorf("the watch tells of format %d, set %q; want set %q", s.Format, s.State.Set, whole.Next)
	}
	all, err := store.List(ctx)
	if err != nil || len(all) != 1 || !same(all[total].State, manyIn(total, 5000)) {
		t.Errorf("%d ledgers of totals are listed, %v", len(all), err)
	}
	if err := store.Delete(ctx, total, "7"); !errors.Is(err, ErrConflict) {
		t.Errorf("another version is deleted: %v", err)
	}
	if err := store.Delete(ctx, total, all[total].Version); err != nil {
		t.Fatal(err)
	}
	if s := next(total); s.Version != "" || s.Seen == "" || !s.State.empty() {
		t.Errorf("the watch tells of %+v, want of a ledger that is gone", s)
	}
	theLedgerThatIsMadeAnewNamesOthers(t, store, next, whole.Next)
}

func theLedgerThatIsMadeAnewNamesOthers(t *testing.T, store *ConfigMaps, next func(string) Stored, before string) {
	t.Helper()
	ctx := t.Context()
	if err := store.Client.Delete(ctx, Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := next(""); s.Version != "" || s.Seen == "" || s.Format != 0 {
		t.Errorf("the watch tells of %+v, want of a ledger that is gone", s)
	}
	if err := store.Mark(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if s := next(""); s.Format != formatTotals || s.State.Set == "" || s.State.Set == before {
		t.Errorf("the watch tells of set %q", s.State.Set)
	}
}
