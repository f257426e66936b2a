package effect

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestNoTableIsMadeIfAStepHasNoEffect(t *testing.T) {
	for _, step := range group.Steps() {
		table, err := New(Deps{})
		if err != nil {
			t.Fatal(err)
		}
		delete(table, step)
		if err := table.complete(); err == nil || err.Error() != "step "+string(step)+" has no effect" {
			t.Errorf("without %s: %v", step, err)
		}
	}
}

// raises records raises of a generation.
type raises struct {
	Memory
	last group.Raise
}

func (r *raises) Raised() group.Raise    { return r.last }
func (r *raises) Raise(last group.Raise) { r.last = last }

// raisedTo are the epochs of raises.
type raisedTo []sharding.Epoch

func (r *raisedTo) Raise(e sharding.Epoch) { *r = append(*r, e) }

// listing is the cache of a member with one group, which counts the lists of all groups, and those of them that copy the groups.
type listing struct {
	client.Reader
	group         v1alpha1.VmGroup
	lists, copies int
}

func (l *listing) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	l.lists++
	if shares := options.UnsafeDisableDeepCopy; shares == nil || !*shares {
		l.copies++
	}
	list.(*v1alpha1.VmGroupList).Items = []v1alpha1.VmGroup{l.group}
	return nil
}

// Each group of a hostile member can show a higher epoch, and half of the workers can check such groups at a time. If each of
// them copied all groups of the member, they would need several times as much memory as a member can have.
func TestGroupsWithAHigherEpochAreLookedAtOnceAndNotCopied(t *testing.T) {
	g := &v1alpha1.VmGroup{}
	g.Status.Ownership = &v1alpha1.Ownership{Epoch: v1alpha1.Epoch{Generation: 9}}
	cache, memory, shards := &listing{group: *g}, &raises{}, &raisedTo{}
	raise := &raiseEpoch{shards: shards}
	for range 8 { // passes that all began before one of them searched
		p := &Pass{Cache: cache, Memory: memory, Now: noon}
		if _, err := raise.Do(t.Context(), p, &group.Snapshot{Group: g, Epoch: v1alpha1.Epoch{Generation: 1}}, group.Decision{}); err != nil {
			t.Fatal(err)
		}
	}
	if cache.lists != 1 || cache.copies != 0 {
		t.Errorf("the groups of the member were listed %d times and copied %d times", cache.lists, cache.copies)
	}
	if want := []sharding.Epoch{{Generation: 9}}; !slices.Equal(*shards, want) {
		t.Errorf("raised the shard map to %v, want %v", *shards, want)
	}
}

// A CRD that was not being deleted before the deletion of a group was seen can be so now. One that was being deleted can exist again.
func TestAnAnswerFromBeforeADeletionWasSeenDoesNotServe(t *testing.T) {
	stays, goes := group.DefinitionAnswer{Definition: &metav1.ObjectMeta{}}, group.DefinitionAnswer{Missing: true}
	for story, c := range map[string]struct {
		answer     group.DefinitionAnswer
		seen, asks time.Duration
		want       bool
	}{
		"asked after it was seen":             {stays, 0, time.Second, true},
		"asked at the moment it was seen":     {stays, time.Second, time.Second, true},
		"asked before it was seen":            {stays, 2 * time.Second, time.Second, false},
		"the CRD was being deleted before":    {goes, 2 * time.Second, time.Second, false},
		"asked too long ago":                  {stays, -time.Hour, -group.DefinitionInterval, false},
		"asked too long ago of one that goes": {goes, -time.Hour, -group.DefinitionInterval, false},
		"nothing is known, and was before":    {group.DefinitionAnswer{}, 2 * time.Second, time.Second, false},
	} {
		d := DefinitionSeen{c.answer, noon.Add(c.asks)}
		now := noon.Add(3 * time.Second)
		if c.asks < 0 {
			now = noon
		}
		if got := d.serves(noon.Add(c.seen), now); got != c.want {
			t.Errorf("%s: %t", story, got)
		}
	}
}

// slotsOf is a vCenter that only gets requests for slots.
type slotsOf struct {
	vsphere.Server
	budget *budget.Budget
}

// GroupChanged does nothing: no group waits in a queue.
func (slotsOf) GroupChanged(vsphere.GroupKey) {}

func (s slotsOf) Acquire(key vsphere.GroupKey, host string, want int) vsphere.Slots {
	return s.budget.Acquire(string(key), host, want)
}

// The pass at the end of a clone cannot see the VM yet. It gave up the group's turn, so that with many waiting groups the VM was powered on after all
// of their clones.
func TestAVMThatIsClonedAndNotSeenYetKeepsItsGroupsTurn(t *testing.T) {
	const host = "h"
	vcenter := slotsOf{budget: budget.New(budget.Limits{Tasks: 1}, slotsOf{})}
	s := &group.Snapshot{ID: vsphere.GroupID{Member: "m", Group: "u"}}
	key, other := s.ID.Key(), vsphere.KeyOf("m", "other")
	slot := vcenter.Acquire(key, host, 1)
	done := vcenter.budget.Start(string(key), host)
	slot.Release()
	vcenter.Acquire(other, host, 1)
	done(true)

	s.Observation.InFlight = []vsphere.Operation{{Kind: vsphere.OpClone}}
	_, slots := limit(vcenter, s, group.Decision{})
	slots.Release()

	s.Observation.InFlight = nil
	todo, slots := limit(vcenter, s, group.Decision{Plan: plan.Plan{Actions: []plan.Action{{Kind: plan.PowerOnVM}}}})
	if len(todo.Actions) != 1 {
		t.Error("another group gets the slot before the VM that was cloned is powered on")
	}
	slots.Release()
}

func TestWhoAskedForAReceiptHasNoLongerNameThanAFieldManager(t *testing.T) {
	for manager, want := range map[string]string{
		strings.Repeat("m", 128):                     strings.Repeat("m", 128),
		"Jürgen":                                     "Jürgen",
		strings.Repeat("ä", 450_000):                 strings.Repeat("ä", 62) + "…",
		"x" + strings.Repeat("ä", 450_000) + "\x1b[": "x" + strings.Repeat("ä", 62) + "…",
	} {
		live := &v1alpha1.VmGroup{}
		live.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:a":{}}}}`)}}
		if got := annotatedBy(live, "a"); got != want {
			t.Errorf("a name of %d bytes becomes %q of %d, want %q", len(manager), got[:min(len(got), 200)], len(got), want)
		}
	}
}

// TestFieldsThatAreTooManyToBeDecodedTellNothing: a field of six bytes needs a hundred once it is decoded.
func TestFieldsThatAreTooManyToBeDecodedTellNothing(t *testing.T) {
	fields := func(others int) *v1alpha1.VmGroup {
		of := &v1alpha1.VmGroup{}
		of.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(
			`{"f:metadata":{"f:annotations":{` + strings.Repeat(`"f:other":{},`, others) + `"f:a":{}}}}`)}}
		return of
	}
	if got := annotatedBy(fields(1000), "a"); got != "kubectl" {
		t.Errorf("beside a thousand others: %q", got)
	}
	if got := annotatedBy(fields(200_000), "a"); got != "" {
		t.Errorf("beside two hundred thousand others: %q", got)
	}
}

// TestAllSecretsOfAPassHaveAsMuchTimeAsOne: a worker waits no longer for a member that answers slowly, however many older revisions a group has.
func TestAllSecretsOfAPassHaveAsMuchTimeAsOne(t *testing.T) {
	reads := &deadlines{}
	if _, err := readSecrets(t.Context(), reads, &group.Snapshot{Group: &v1alpha1.VmGroup{}}, []string{"one", "two", "three"}); err != nil {
		t.Fatal(err)
	}
	if len(reads.seen) != 3 || reads.seen[0].IsZero() || !reads.seen[0].Equal(reads.seen[2]) {
		t.Errorf("the reads may last until %v", reads.seen)
	}
}

// deadlines records the deadline of each read.
type deadlines struct {
	client.Reader
	seen []time.Time
}

func (d *deadlines) Get(ctx context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	at, _ := ctx.Deadline()
	d.seen = append(d.seen, at)
	return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
}

func TestASecretWhoseLabelIsFalseIsNoUserData(t *testing.T) {
	if isUserData(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.UserDataLabel: "false"}}}) {
		t.Error("the label says that it is none")
	}
}
