package receipts_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/receipts/receiptstest"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// indexed is an index with its store.
type indexed struct {
	*receipts.Index
	*receipts.ConfigMaps
	t       *testing.T
	now     time.Time
	leading shardingtest.Leader
	settled bool
}

// ReceiptSettled implements receipts.VMs.
func (i *indexed) ReceiptSettled(context.Context, receipts.Receipt) bool { return i.settled }

func newIndexed(t *testing.T) *indexed {
	client := &receiptstest.ConfigMaps{}
	i := &indexed{ConfigMaps: &receipts.ConfigMaps{Client: client}, t: t, now: at, leading: true}
	i.Index = receipts.NewIndex(receipts.IndexOptions{
		Client: client, Leader: &i.leading, Now: func() time.Time { return i.now }, VMs: i,
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := i.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return i
}

func (i *indexed) until(what string, keeps bool) {
	i.t.Helper()
	await.True(i.t, what, func() bool { return i.Keeps(old) == keeps })
}

// after collects after that much time, and reports whether the receipt still exists.
func (i *indexed) after(d time.Duration) bool {
	i.t.Helper()
	i.now = i.now.Add(d)
	i.Collect(i.t.Context())
	r, err := i.Read(i.t.Context(), old)
	if err != nil {
		i.t.Fatal(err)
	}
	return r != nil
}

func TestAReceiptGoesWhenNothingHasBeenLeftOfItForAWhile(t *testing.T) {
	i := newIndexed(t)
	write(t, i, released())
	i.until("the receipt is seen", true)
	n, bytes := i.Sum("member")
	if others, _ := i.Sum("another"); n != 1 || bytes < 1<<10 || bytes > 4<<10 || others != 0 {
		t.Errorf("the receipts are counted wrong: %d of %d bytes", n, bytes)
	}
	if i.Keeps(vsphere.KeyOf("another", "old")) {
		t.Error("the VMs of the group of another member are kept")
	}
	i.after(0)
	if !i.after(time.Hour) {
		t.Error("the receipt of VMs that are there is removed")
	}
	i.settled, i.leading = true, false
	i.after(0)
	if !i.after(time.Hour) {
		t.Error("a replica that does not lead removes receipts")
	}
	i.leading = true
	i.after(0)
	i.settled = false
	i.after(9 * time.Minute)
	i.settled = true
	if i.after(0); !i.after(9 * time.Minute) {
		t.Error("the time does not begin anew")
	}
	if i.after(time.Minute) {
		t.Error("the receipt stays")
	}
	i.until("the deletion of the receipt is seen", false)
}

func TestReceiptsOfADeletedVCenterWhoseVMsAreGoneGoWithIt(t *testing.T) {
	i := newIndexed(t)
	write(t, i, released())
	i.until("the receipt is seen", true)
	settle := func(vcenter string) (left bool) {
		t.Helper()
		if err := i.Settle(t.Context(), vcenter); err != nil {
			t.Fatal(err)
		}
		r, err := i.Read(t.Context(), old)
		if err != nil {
			t.Fatal(err)
		}
		return r != nil
	}
	if !settle(released().VCenter) {
		t.Fatal("the receipt of a VM that exists was removed: a VCenter of the same name cannot get it back")
	}
	i.settled = true
	if !settle("another") {
		t.Fatal("the receipt of another VCenter was removed")
	}
	if settle(released().VCenter) {
		t.Error("the receipt stays forever, because no VCenter can tell that its VMs were deleted")
	}
}

func TestAForgottenGroupsReceiptStaysAndKeepsNothing(t *testing.T) {
	i := newIndexed(t)
	write(t, i, released())
	i.until("the receipt is seen", true)
	forgotten := released()
	forgotten.Cause = receipts.Forgotten
	write(t, i, forgotten)
	i.until("VMs that come back are kept", false)
	i.settled = true
	i.after(0)
	if !i.after(time.Hour) {
		t.Error("the receipt is removed")
	}
	if _, err := i.Claim(t.Context(), old, released(), group("new")); err != nil {
		t.Fatal(err)
	}
	i.until("a group takes the VMs", true)
	i.after(0)
	if i.after(time.Hour) {
		t.Error("the receipt stays though another group has all VMs")
	}
}

func TestAReceiptThatSomebodySpoiltKeepsNothingAndStays(t *testing.T) {
	i := newIndexed(t)
	write(t, i, released())
	i.until("the receipt is seen", true)
	object, err := i.Client.Get(t.Context(), receipts.Name(old), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.Data["receipt.json"] = "{"
	if _, err := i.Client.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	i.until("it cannot be read", false)
	i.settled = true
	i.now = i.now.Add(time.Hour)
	i.Collect(t.Context())
	i.now = i.now.Add(time.Hour)
	i.Collect(t.Context())
	if _, err := i.Client.Get(t.Context(), receipts.Name(old), metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
