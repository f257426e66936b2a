//go:build unix && !fast

package quota

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

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
	store := ConfigMaps{Client: client.CoreV1().ConfigMaps("default")}
	told := make(chan Stored, 16)
	watching := make(chan struct{})
	watchCtx, end := context.WithCancel(ctx)
	go func() {
		defer close(watching)
		store.Watch(watchCtx, func(s Stored) { told <- s })
	}()
	defer func() { end(); <-watching }()
	next := func() Stored {
		t.Helper()
		select {
		case s := <-told:
			return s
		case <-time.After(2 * time.Minute):
			t.Fatal("the watch tells nothing")
			return Stored{}
		}
	}

	refused := func(s State, version string) {
		t.Helper()
		if _, err := store.Write(ctx, s, version); !errors.Is(err, ErrConflict) {
			t.Errorf("version %q was replaced, which is not what is stored: %v", version, err)
		}
	}

	if s, err := store.Read(ctx); err != nil || s.Version != "" {
		t.Fatalf("no ledger is read as %+v, %v", s, err)
	}
	refused(many(1), "7")
	written := func(s State, version string) string {
		t.Helper()
		version, err := store.Write(ctx, s, version)
		if err != nil {
			t.Fatal(err)
		}
		return version
	}
	version := written(many(2), "")
	if s := next(); s.Version != version || !reflect.DeepEqual(s.State, many(2)) {
		t.Errorf("the watch tells version %s, want %s", s.Version, version)
	}
	refused(many(3), "")
	second := written(many(5000), version)
	refused(many(4), version)
	if s, err := store.Read(ctx); err != nil || s.Version != second || !reflect.DeepEqual(s.State, many(5000)) {
		t.Errorf("the ledger is read as version %s, want %s: %v", s.Version, second, err)
	}
	if s := next(); s.Version != second {
		t.Errorf("the watch tells version %s, want %s", s.Version, second)
	}
	if err := store.Client.Delete(ctx, Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := next(); s.Version != "" || s.Seen == "" || s.State.Entries != nil {
		t.Errorf("the watch tells of %+v, want of a ledger that is gone", s)
	}
}
