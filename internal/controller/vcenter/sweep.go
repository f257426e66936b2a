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
	// folderPatience is how long this replica must have seen a group's folder empty before it checks whether the group exists.
	folderPatience = 10 * time.Minute
	// sweptAtOnce is the number of folders in one check of a VCenter.
	sweptAtOnce = 3
	// sweepTimeout limits the calls to members and to vCenter in one check.
	sweepTimeout = 10 * time.Second
)

// groupFolder matches the name of a group's folder: the group's name and the first eight characters of its UID.
var groupFolder = regexp.MustCompile(`^([a-z0-9](?:[-.a-z0-9]*[a-z0-9])?)\.([0-9a-f]{8})$`)

var errNotLeading = errors.New("another replica leads now")

// emptyFolders stores since when folders are empty, by VCenter. Its zero value is ready.
type emptyFolders struct {
	mu   sync.Mutex
	seen map[string]emptied
	// asking are the VCenters with folders that members are being asked about.
	asking map[string]bool
	asked  sync.WaitGroup
}

// emptied is the time of the last search of a VCenter's folders, and since when the empty ones are empty.
type emptied struct {
	at    time.Time
	since map[vsphere.Ref]time.Time
}

// due returns the folders that have been empty for folderPatience, the longest first. It calls find at most once per lookInterval. A folder that was not
// certainly empty starts again. While find does not know, nothing is due, and the times stay: otherwise an outage, or a VM that is always being cloned, would
// keep all folders forever.
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

// wait restarts the time of an empty folder, which delays the next question to its member.
func (e *emptyFolders) wait(vcenter string, folder vsphere.Ref, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen[vcenter].since[folder] = now
}

// ask runs do in the background and returns true. If members are still being asked about folders of this VCenter, it returns false.
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

// forget drops the state of a VCenter that was deleted.
func (e *emptyFolders) forget(vcenter string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.seen, vcenter)
}

// leftFolder is an empty folder with the name of a group's folder.
type leftFolder struct {
	vsphere.GroupFolder
	group types.NamespacedName
	uid   string
}

// sweep removes folders of groups that do not exist: their finalizer was removed manually, and their VMs were deleted later. The name of such a folder
// contains the group's UID, so no other group creates VMs in it. Every replica measures how long folders are empty, and the leader removes them. A
// member can answer slowly or never, so the check of the VCenter does not wait for it.
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
	case errors.Is(err, errNotLeading): // the leader removes it
	case err != nil:
		log.FromContext(ctx).Error(err, "An empty folder stays for now", "folder", f.InventoryPath, "moRef", f.Ref.Value)
	case gone:
		note := fmt.Sprintf("The empty folder %s (%s) was removed: it belonged to a VmGroup of member %s, and that VmGroup does not exist any more", untrusted.Name(f.InventoryPath), f.Ref.Value, f.Member)
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
