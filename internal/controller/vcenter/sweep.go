package vcenter

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// folderPatience is how long a group's folder must have been empty, for this replica, before anybody asks whether its group exists.
	folderPatience = 10 * time.Minute
	// sweptAtOnce are the folders that are asked about in one look at a VCenter.
	sweptAtOnce = 3
	// sweepTimeout bounds the questions to members, and to vCenter, of one look.
	sweepTimeout = 10 * time.Second
)

// groupFolder is the name of a group's folder: the group's name and the first eight characters of its UID.
var groupFolder = regexp.MustCompile(`^([a-z0-9](?:[-.a-z0-9]*[a-z0-9])?)\.([0-9a-f]{8})$`)

var errNotLeading = errors.New("another replica leads now")

// emptyFolders remembers since when folders are empty, by VCenter. Its zero value is ready.
type emptyFolders struct {
	mu   sync.Mutex
	seen map[string]emptied
	// asking are the VCenters about whose folders members are asked now.
	asking map[string]bool
	asked  sync.WaitGroup
}

// emptied is when the folders of a VCenter were looked through last, and since when those are empty that are.
type emptied struct {
	at    time.Time
	since map[vsphere.Ref]time.Time
}

// due returns the folders that have been empty for long enough, the longest first, a few at a time. It calls find once in a while only. One that was not
// empty begins anew. While find does not know, nothing is due, and the times stay: a VM that is cloned without a break, or a short outage, would else keep
// all folders for ever.
func (e *emptyFolders) due(vcenter string, now time.Time, find func() (empty []vsphere.GroupFolder, known bool)) []vsphere.GroupFolder {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.seen[vcenter]
	if !last.at.IsZero() && now.Sub(last.at) < lookInterval {
		return nil
	}
	empty, known := find()
	if !known {
		return nil
	}
	next := emptied{at: now, since: map[vsphere.Ref]time.Time{}}
	var due []vsphere.GroupFolder
	for _, f := range empty {
		since, known := last.since[f.Ref]
		if !known {
			since = now
		}
		next.since[f.Ref] = since
		if now.Sub(since) >= folderPatience {
			due = append(due, f)
		}
	}
	if e.seen == nil {
		e.seen = map[string]emptied{}
	}
	e.seen[vcenter] = next
	slices.SortStableFunc(due, func(a, b vsphere.GroupFolder) int { return next.since[a.Ref].Compare(next.since[b.Ref]) })
	return due
}

// wait lets no member be asked about a folder for a while.
func (e *emptyFolders) wait(vcenter string, folder vsphere.Ref, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen[vcenter].since[folder] = now
}

// ask runs do in the background, unless members are still asked about folders of this VCenter. It reports whether it does.
func (e *emptyFolders) ask(vcenter string, do func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asking[vcenter] {
		return false
	}
	if e.asking == nil {
		e.asking = map[string]bool{}
	}
	e.asking[vcenter] = true
	e.asked.Go(func() {
		do()
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.asking, vcenter)
	})
	return true
}

// forget drops what is known of a VCenter that was deleted.
func (e *emptyFolders) forget(vcenter string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.seen, vcenter)
}

// leftFolder is an empty folder of a group, by its name.
type leftFolder struct {
	vsphere.GroupFolder
	group types.NamespacedName
	uid   string
}

// sweep removes folders of groups that do not exist: their finalizer was removed by hand, and their VMs went later. The name of such a folder has
// the group's UID, so that no other group makes VMs in it. Every replica watches for how long folders are empty; the leader removes them. A member can
// answer slowly, or never: the look at the VCenter does not wait for it.
func (r *Reconciler) sweep(ctx context.Context, vc *v1alpha1.VCenter, current Connection) {
	due := r.empty.due(vc.Name, r.Now(), current.EmptyGroupFolders)
	if r.Members == nil || !r.leading() {
		return
	}
	var left []leftFolder
	for _, f := range due {
		if name := groupFolder.FindStringSubmatch(f.Leaf); name != nil && len(left) < sweptAtOnce {
			left = append(left, leftFolder{f, types.NamespacedName{Namespace: f.Namespace, Name: name[1]}, name[2]})
		}
	}
	if len(left) == 0 {
		return
	}
	vc = vc.DeepCopy()
	ctx, cancel := context.WithTimeout(vsphere.WithFence(context.WithoutCancel(ctx), r.mayLead), sweepTimeout)
	if !r.empty.ask(vc.Name, func() {
		defer cancel()
		for _, f := range left {
			r.removeLeft(ctx, vc, current, f)
		}
	}) {
		cancel()
		return
	}
	for _, f := range left {
		r.empty.wait(vc.Name, f.Ref, r.Now())
	}
}

// removeLeft removes a folder if its group certainly does not exist.
func (r *Reconciler) removeLeft(ctx context.Context, vc *v1alpha1.VCenter, current Connection, f leftFolder) {
	gone, err := r.Members.NoGroup(ctx, f.Member, f.group, f.uid)
	if err == nil && gone {
		err = current.DestroyFolder(ctx, f.Ref)
	}
	switch {
	case err != nil:
		log.FromContext(ctx).Error(err, "An empty folder stays for now", "folder", f.InventoryPath, "moRef", f.Ref.Value)
	case gone:
		note := fmt.Sprintf("The empty folder %s (%s) was removed: it was of a VmGroup of member %s that does not exist any more", untrusted.Name(f.InventoryPath), f.Ref.Value, f.Member)
		log.FromContext(ctx).Info("An empty folder was removed", "folder", f.InventoryPath, "moRef", f.Ref.Value, "member", f.Member, "namespace", f.Namespace, "uid", f.uid)
		r.Events.Eventf(vc, nil, corev1.EventTypeNormal, v1alpha1.EventFolderRemoved, "Sweep", "%s", note)
	}
}

func (r *Reconciler) mayLead() error {
	if !r.leading() {
		return errNotLeading
	}
	return nil
}
