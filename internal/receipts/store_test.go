package receipts_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/receipts/receiptstest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var at = time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)

func released() receipts.Receipt {
	return receipts.Receipt{
		Cause: receipts.Released, MemberCluster: "dc1", MemberUID: "member", Namespace: "shop", Group: "web", GroupUID: "old",
		VCenter: "vc1", InstanceUUID: "i-1", Folder: receipts.Folder{Path: "/DC/vm/kubernetes/dc1/shop/web-old", MoRef: "group-v7"}, By: "kubectl-annotate", Time: at,
		VMs: []receipts.VM{{Name: "web-0", MoRef: "vm-1", UUID: "u-0", Revision: "1-abc"}, {Name: "web-1", MoRef: "vm-2", UUID: "u-1", Ordinal: 1, Revision: "1-abc"}},
	}
}

func group(uid string) receipts.Adopter {
	return receipts.Adopter{MemberUID: "member", Namespace: "shop", Group: "web", GroupUID: uid}
}

var old = vsphere.KeyOf("member", "old")

func write(t *testing.T, s receipts.Store, r receipts.Receipt) {
	t.Helper()
	if err := s.Write(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s receipts.Store, want *receipts.Receipt) {
	t.Helper()
	got, err := s.Read(t.Context(), old)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("the receipt is %+v, %v; want %+v", got, err, want)
	}
}

func TestWrittenReceiptIsReadAndRemoved(t *testing.T) {
	s := receiptstest.New()
	read(t, s, nil)
	r := released()
	write(t, s, r)
	read(t, s, &r)
	if got, err := s.Read(t.Context(), vsphere.KeyOf("another", "old")); got != nil || err != nil {
		t.Errorf("the group of another member has the receipt %+v, %v", got, err)
	}
	for range 2 {
		if err := s.Remove(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		read(t, s, nil)
	}
}

func TestReceiptThatIsWrittenAgainIsPutRightAndKeepsItsTime(t *testing.T) {
	s := receiptstest.New()
	r := released()
	write(t, s, r)
	changes := 0
	s.Client.(*receiptstest.ConfigMaps).Before = func(verb string) error {
		if verb == "update" {
			changes++
		}
		return nil
	}
	again := r
	again.Time, again.By = at.Add(time.Hour), ""
	write(t, s, again)
	if read(t, s, &r); changes != 0 {
		t.Errorf("a receipt that says it all was written %d times more", changes)
	}
	again.VMs = r.VMs[:1]
	write(t, s, again)
	r.VMs = r.VMs[:1]
	read(t, s, &r)
	again.Cause = receipts.Forgotten
	write(t, s, again)
	read(t, s, &again)
}

func TestClaimedReceiptIsNotWrittenAgain(t *testing.T) {
	s := receiptstest.New()
	write(t, s, released())
	claimed, err := s.Claim(t.Context(), old, released(), group("new"))
	if err != nil || claimed.AdoptedBy == nil || claimed.Cause != receipts.Released {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	other := released()
	other.VMs = nil
	write(t, s, other)
	read(t, s, &claimed)
}

func TestOnlyTheFirstOfManyGetsTheVMs(t *testing.T) {
	for _, exists := range []bool{true, false} {
		t.Run(fmt.Sprintf("receipt %t", exists), func(t *testing.T) {
			s := receiptstest.New()
			if exists {
				write(t, s, released())
			}
			const groups = 4
			var claims sync.WaitGroup
			won, lost := make(chan string, groups), make(chan error, groups)
			for n := range groups {
				claims.Go(func() {
					uid := fmt.Sprintf("new-%d", n)
					if _, err := s.Claim(t.Context(), old, released(), group(uid)); err != nil {
						lost <- err
						return
					}
					won <- uid
				})
			}
			claims.Wait()
			close(won)
			close(lost)
			if len(won) != 1 {
				t.Fatalf("%d groups have got the VMs", len(won))
			}
			winner := <-won
			for err := range lost {
				if claimed := (*receipts.ClaimedError)(nil); !errors.As(err, &claimed) || claimed.By != group(winner) {
					t.Errorf("a losing claim gets error %v", err)
				}
			}
			r, err := s.Claim(t.Context(), old, released(), group(winner))
			if err != nil || *r.AdoptedBy != group(winner) || exists != (r.Cause == receipts.Released) || exists == (r.Cause == receipts.Adopted) {
				t.Errorf("who asks again gets %+v, %v", r, err)
			}
		})
	}
}

// Another group claims between the read and the write of a claim.
func TestClaimThatComesInBetweenWins(t *testing.T) {
	for _, verb := range []string{"create", "update"} {
		client := &receiptstest.ConfigMaps{}
		s := &receipts.ConfigMaps{Client: client}
		if verb == "update" {
			write(t, s, released())
		}
		client.Before = func(v string) error {
			if v != verb {
				return nil
			}
			client.Before = nil
			_, err := s.Claim(context.Background(), old, released(), group("first"))
			return err
		}
		_, err := s.Claim(t.Context(), old, released(), group("second"))
		if claimed := (*receipts.ClaimedError)(nil); !errors.As(err, &claimed) || claimed.By != group("first") {
			t.Errorf("%s: the second claim gets error %v", verb, err)
		}
	}
}

func TestClaimThatIsTakenBackLeavesTheReceipt(t *testing.T) {
	s := receiptstest.New()
	r := released()
	write(t, s, r)
	for _, by := range []string{"new", "another"} {
		if _, err := s.Claim(t.Context(), old, r, group(by)); err != nil {
			t.Fatal(err)
		}
		if err := s.Unclaim(t.Context(), old, group("third")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Claim(t.Context(), old, r, group("third")); err == nil {
			t.Error("a group takes the claim of another back")
		}
		if err := s.Unclaim(t.Context(), old, group(by)); err != nil {
			t.Fatal(err)
		}
		read(t, s, &r)
	}
	if err := s.Remove(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), old, r, group("new")); err != nil {
		t.Fatal(err)
	}
	if err := s.Unclaim(t.Context(), old, group("new")); err != nil {
		t.Fatal(err)
	}
	read(t, s, nil)
}

func TestWhatCannotBeReadIsNotOverwritten(t *testing.T) {
	good := receiptstest.New()
	write(t, good, released())
	object, err := good.Client.Get(t.Context(), receipts.Name(old), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := object.Data["receipt.json"]
	for name, data := range map[string]map[string]string{
		"empty":                       nil,
		"no JSON":                     {"receipt.json": "{"},
		"newer":                       {"receipt.json": strings.Replace(text, `"format": 1`, `"format": 2`, 1)},
		"no format":                   {"receipt.json": strings.Replace(text, `"format": 1,`, "", 1)},
		"of another group":            {"receipt.json": strings.Replace(text, `"groupUID": "old"`, `"groupUID": "older"`, 1)},
		"of another member":           {"receipt.json": strings.Replace(text, `"memberUID": "member"`, `"memberUID": "members"`, 1)},
		"of no cause":                 {"receipt.json": strings.Replace(text, `"Released"`, `"Lost"`, 1)},
		"of no time":                  {"receipt.json": strings.Replace(text, "2026-05-01T03:00:00Z", "0001-01-01T00:00:00Z", 1)},
		"claimed by an empty adopter": {"receipt.json": strings.Replace(text, `"format": 1,`, `"format": 1, "adoptedBy": {},`, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			if data["receipt.json"] == text {
				t.Fatal("nothing is spoilt")
			}
			s := receiptstest.New()
			spoilt := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: object.Name, Labels: object.Labels}, Data: data}
			if _, err := s.Client.Create(t.Context(), spoilt, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			_, readErr := s.Read(t.Context(), old)
			_, claimErr := s.Claim(t.Context(), old, released(), group("new"))
			all, listErr := s.List(t.Context())
			for verb, err := range map[string]error{
				"read": readErr, "write": s.Write(t.Context(), released()), "claim": claimErr, "list": listErr,
				"unclaim": s.Unclaim(t.Context(), old, group("new")), "remove": s.Remove(t.Context(), old),
			} {
				if unreadable := (*receipts.UnreadableError)(nil); !errors.As(err, &unreadable) || unreadable.ConfigMap != object.Name {
					t.Errorf("%s says %v", verb, err)
				}
			}
			got, err := s.Client.Get(t.Context(), object.Name, metav1.GetOptions{})
			if err != nil || !reflect.DeepEqual(got.Data, data) || len(all) != 0 {
				t.Errorf("what could not be read is now %v, %v", got.Data, err)
			}
		})
	}
}

func TestListHasEveryReceiptAndSaysWhatItCannotRead(t *testing.T) {
	s := receiptstest.New()
	const many = 230 // more than two pages
	for n := range many {
		r := released()
		r.GroupUID = fmt.Sprintf("old-%d", n)
		write(t, s, r)
	}
	object, err := s.Client.Get(t.Context(), receipts.Name(vsphere.KeyOf("member", "old-1")), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.Name, object.ResourceVersion = "copy-of-a-receipt", ""
	if _, err := s.Client.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	all, err := s.List(t.Context())
	if unreadable := (*receipts.UnreadableError)(nil); len(all) != many || !errors.As(err, &unreadable) || unreadable.ConfigMap != "copy-of-a-receipt" {
		t.Errorf("%d receipts, %v", len(all), err)
	}
}

func TestUnknownIsNotAbsent(t *testing.T) {
	s := receiptstest.New()
	down := errors.New("the hub is unreachable")
	for _, verb := range []string{"get", "create", "update", "delete", "list"} {
		client := &receiptstest.ConfigMaps{}
		s.Client = client
		if verb != "create" {
			write(t, s, released())
		}
		client.Before = func(v string) error {
			if v == verb {
				return down
			}
			return nil
		}
		var err error
		switch verb {
		case "get":
			_, err = s.Read(t.Context(), old)
		case "create":
			err = s.Write(t.Context(), released())
		case "update":
			_, err = s.Claim(t.Context(), old, released(), group("new"))
		case "delete":
			err = s.Remove(t.Context(), old)
		case "list":
			_, err = s.List(t.Context())
		}
		if !errors.Is(err, down) {
			t.Errorf("%s: a hub that does not answer is %v", verb, err)
		}
	}
}

func TestWriterThatIsNeverFirstGivesUp(t *testing.T) {
	client := &receiptstest.ConfigMaps{}
	s, rival := &receipts.ConfigMaps{Client: client}, &receipts.ConfigMaps{Client: client}
	write(t, s, released())
	n := 0
	client.Before = func(verb string) error {
		if verb == "update" && n >= 0 {
			r := released()
			r.MemberCluster = fmt.Sprintf("renamed-%d", n)
			turn := n
			n = -1
			defer func() { n = turn + 1 }()
			return rival.Write(context.Background(), r)
		}
		return nil
	}
	r := released()
	r.VMs = nil
	if err := s.Write(t.Context(), r); err == nil || n != 5 {
		t.Errorf("after %d tries: %v", n, err)
	}
}

func TestReceiptWithoutItsGroupIsNotWritten(t *testing.T) {
	s := receiptstest.New()
	r := released()
	r.GroupUID = ""
	if err := s.Write(t.Context(), r); err == nil {
		t.Error("a receipt of no group is written")
	}
	if _, err := s.Claim(t.Context(), vsphere.KeyOf("member", "another"), released(), group("new")); err == nil {
		t.Error("a receipt is made of the template of another group")
	}
}

// A status that a hostile API server made up can be megabytes, and becomes a receipt.
func TestAReceiptIsNotLargerThanItsVMsCanMakeIt(t *testing.T) {
	vms := func(n, name int) (all []receipts.VM) {
		for i := range n {
			all = append(all, receipts.VM{
				Name: strings.Repeat("w", name), MoRef: "vm-1234567", UUID: "42000000-0000-4000-8000-000000000001", Ordinal: int32(i), Revision: "1-0123456789abcdef",
			})
		}
		return all
	}
	for story, c := range map[string]struct {
		change func(*receipts.Receipt)
		fits   bool
	}{
		"500 VMs, twice as many in an update, with the longest names": {func(r *receipts.Receipt) { r.VMs = vms(1000, 80) }, true},
		"a path as vCenter may have one":                              {func(r *receipts.Receipt) { r.Folder.Path = strings.Repeat("/folder", 500) }, true},
		"an instance UUID of 20 KiB":                                  {func(r *receipts.Receipt) { r.InstanceUUID = strings.Repeat("u", 20<<10) }, false},
		"a VM whose name has 20 KiB":                                  {func(r *receipts.Receipt) { r.VMs = vms(1, 20<<10) }, false},
		"10,000 VMs":                                                  {func(r *receipts.Receipt) { r.VMs = vms(10_000, 3) }, false},
	} {
		t.Run(story, func(t *testing.T) {
			s, r := receiptstest.New(), released()
			c.change(&r)
			err := s.Write(t.Context(), r)
			var large *receipts.TooLargeError
			if errors.As(err, &large) == c.fits || c.fits && err != nil || err != nil && len(err.Error()) > 400 {
				t.Errorf("the error is %v", err)
			}
			if stored, err := s.Read(t.Context(), old); err != nil || (stored != nil) != c.fits {
				t.Errorf("it is stored: %v, %v", stored != nil, err)
			}
		})
	}
}
