package govmomi

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestErrorsOfFoldersHoldBackTheirNamespaceUntilTheTimeToTryAgain(t *testing.T) {
	now := time.Unix(1000, 0)
	f := &folderErrors{now: func() time.Time { return now }}
	mine := vsphere.FolderPath{Member: "m", Namespace: "ns", Leaf: "a"}
	neighbor := vsphere.FolderPath{Member: "m", Namespace: "ns", Leaf: "b"}
	other := vsphere.FolderPath{Member: "m", Namespace: "other", Leaf: "a"}
	fail := func(kind vsphere.Kind) error {
		return fmt.Errorf("create: %w", &vsphere.Error{Kind: kind, Op: "create folder", Err: errors.New("no")})
	}
	denied := fail(vsphere.KindPermission)
	f.record(mine, true, denied)
	if !errors.Is(f.standing(mine), denied) || !errors.Is(f.standing(neighbor), denied) || f.standing(other) != nil {
		t.Errorf("standing: %v, %v, %v", f.standing(mine), f.standing(neighbor), f.standing(other))
	}
	now = now.Add(time.Minute)
	if err := f.standing(mine); err != nil {
		t.Errorf("still held back after a minute: %v", err)
	}
	f.record(mine, true, denied)
	now = now.Add(time.Minute)
	if f.standing(mine) == nil {
		t.Error("the second failure does not wait for longer")
	}
	f.record(neighbor, true, nil)
	if err := f.standing(mine); err != nil {
		t.Errorf("a success did not clear it: %v", err)
	}
	f.record(mine, true, fail(vsphere.KindNameTaken))
	if f.standing(mine) == nil || f.standing(neighbor) != nil {
		t.Error("a name that is taken concerns its own group only")
	}
	f.record(other, false, fail(vsphere.KindFenced))
	if err := f.standing(other); err != nil {
		t.Errorf("a request that was not sent holds back: %v", err)
	}
}

func TestALockIsGivenUpWithTheContext(t *testing.T) {
	var k keyedLocks
	unlock, err := k.lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.lock(ctx, "a"); err == nil {
		t.Fatal("the lock was taken twice")
	}
	unlock()
	again, err := k.lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	again()
	if len(k.locks) != 0 {
		t.Errorf("%d locks are left", len(k.locks))
	}
}
