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
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/foreigntext"
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
var groupFolder = regexp.MustCompile(`^[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?\.([0-9a-f]{8})$`)

var errNotLeading = errors.New("another replica leads now")

// emptyFolders remembers since when folders are empty, by VCenter. Its zero value is ready.
type emptyFolders struct {
	mu   sync.Mutex
	seen map[string]emptied
	// sweeping are the VCenters whose folders are being asked about.
	sweeping map[string]bool
}

// emptied is when the folders of a VCenter were looked through last, and since when those are empty that are.
type emptied struct {
	at    time.Time
	since map[vsphere.Ref]time.Time
}

// due returns the folders that have been empty for long enough, the longest first, a few at a time. It calls find once in a while only. One that was not
// empty, or not known to be, begins anew.
func (e *emptyFolders) due(vcenter string, now time.Time, find func() []vsphere.GroupFolder) []vsphere.GroupFolder {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.seen[vcenter]
	if !last.at.IsZero() && now.Sub(last.at) < lookInterval {
		return nil
	}
	next := emptied{at: now, since: map[vsphere.Ref]time.Time{}}
	var due []vsphere.GroupFolder
	for _, f := range find() {
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

// wait has nobody ask about a folder for a while.
func (e *emptyFolders) wait(vcenter string, folder vsphere.Ref, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if last, known := e.seen[vcenter]; known {
		last.since[folder] = now
	}
}

// begin starts a sweep of a VCenter, or returns false while another one runs. The caller that gets true calls end.
func (e *emptyFolders) begin(vcenter string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sweeping[vcenter] {
		return false
	}
	if e.sweeping == nil {
		e.sweeping = map[string]bool{}
	}
	e.sweeping[vcenter] = true
	return true
}

func (e *emptyFolders) end(vcenter string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sweeping, vcenter)
}

// forget drops what is known of a VCenter: it was not certain, or the VCenter is gone.
func (e *emptyFolders) forget(vcenter string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.seen, vcenter)
}

// startSweep sweeps in the background: a member can answer slowly, and the reconcile of the VCenter does not wait for it.
func (r *Reconciler) startSweep(ctx context.Context, vc *v1alpha1.VCenter, current Connection) {
	if !r.empty.begin(vc.Name) {
		return
	}
	vc = vc.DeepCopy()
	go func() {
		defer r.empty.end(vc.Name)
		r.sweep(ctx, vc, current)
	}()
}

// sweep removes folders of groups that do not exist: their finalizer was removed by hand, and their VMs went later. The name of such a folder has
// the group's UID, so that nobody else makes VMs in it. Every replica watches for how long folders are empty; the leader removes them.
func (r *Reconciler) sweep(ctx context.Context, vc *v1alpha1.VCenter, current Connection) {
	due := r.empty.due(vc.Name, r.Now(), current.EmptyGroupFolders)
	if r.NoGroup == nil || !r.leading() {
		return
	}
	ctx, cancel := context.WithTimeout(vsphere.WithFence(ctx, r.mayLead), sweepTimeout)
	defer cancel()
	asked := 0
	for _, f := range due {
		uid := groupFolder.FindStringSubmatch(f.Leaf)
		if uid == nil || asked == sweptAtOnce {
			continue
		}
		asked++
		r.empty.wait(vc.Name, f.Ref, r.Now())
		gone, err := r.NoGroup(ctx, f.Member, f.Namespace, uid[1])
		if err == nil && gone {
			err = current.DestroyFolder(ctx, f.Ref)
		}
		switch {
		case err != nil:
			log.FromContext(ctx).Info("An empty folder stays for now", "folder", f.InventoryPath, "moRef", f.Ref.Value, "reason", err.Error())
		case gone:
			note := fmt.Sprintf("The empty folder %s (%s) was removed: it was of a VmGroup of member %s that does not exist any more", foreigntext.Name(f.InventoryPath), f.Ref.Value, f.Member)
			log.FromContext(ctx).Info("An empty folder was removed", "folder", f.InventoryPath, "moRef", f.Ref.Value, "member", f.Member, "namespace", f.Namespace, "uid", uid[1])
			r.Events.Eventf(vc, nil, corev1.EventTypeNormal, "FolderRemoved", "Sweep", "%s", note)
		}
	}
}

func (r *Reconciler) mayLead() error {
	if !r.leading() {
		return errNotLeading
	}
	return nil
}
