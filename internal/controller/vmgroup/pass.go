package vmgroup

import (
	"context"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/planted"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// pass is one reconcile of one group.
type pass struct {
	r     *Reconciler
	group *v1alpha1.VmGroup
	// base is the group as the API server last returned it; group is base plus what this pass changes.
	base       *v1alpha1.VmGroup
	member     Member
	id         vsphere.GroupID
	epoch      sharding.Epoch
	raise      func(sharding.Epoch)
	client     client.Client
	liveReader client.Reader
	events     events.EventRecorder
	now        time.Time
	// hold is how far the group may follow its spec, spec what is planned with: the group's, or what was admitted of it.
	// revision is that of spec.
	hold     policy.Hold
	spec     v1alpha1.VmGroupSpec
	revision string
	// vanished is a group that the API server does not have any more; its status is kept in memory. It is nil for every
	// other.
	vanished *vanishedGroup
	// imagined is true when the group need not exist, so that nothing of it is remembered.
	imagined bool
	// unwatched is true when the pass waits for something that no event tells of.
	unwatched bool
	// acting is true when the plan asks vCenter for something.
	acting bool
}

// unwatchedInterval is how often something is looked for again that no event tells of: a Secret of a member, a VM
// outside of the root folder, a privilege.
const unwatchedInterval = 30 * time.Second

// writeTimeout bounds a write to a member. API servers answer in milliseconds; one that does not must not hold
// a worker that others need.
const writeTimeout = 5 * time.Second

// planWith makes spec the one that this pass plans with.
func (p *pass) planWith(spec v1alpha1.VmGroupSpec) { p.spec, p.revision = spec, plan.Revision(spec) }

func (p *pass) deleting() bool { return !p.group.DeletionTimestamp.IsZero() }

func (p *pass) run(ctx context.Context) (reconcile.Result, error) {
	p.base = p.group.DeepCopy()
	p.planWith(p.group.Spec)
	if p.overtaken() {
		// Nobody else may act on it now, so the ring has lost its memory: it was restored or made anew.
		log.FromContext(ctx).Info("Status carries a later epoch than the ring gives; the ring's generation is raised", "epoch", p.group.Status.Ownership.Epoch)
		later := p.group.Status.Ownership.Epoch
		p.raise(sharding.Epoch(later))
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if done, err := p.claim(ctx); done || err != nil {
		return p.retryConflict(err)
	}
	res, err := p.resolve(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if res.stranger && !p.deleting() {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if p.deleting() && p.neverActed() && (res.server == nil || res.unavailable != nil) {
		return p.finish(ctx, res, vsphere.Observation{})
	}
	observation := p.look(ctx, res)
	if wait := p.r.blind.wait(p.group.UID, outOfSight(res, observation), p.now); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	hold, waiting := p.guard(ctx, res, observation)
	if waiting {
		return reconcile.Result{RequeueAfter: quotaNet}, nil
	}
	if err := p.apply(ctx, &res, hold); err != nil {
		return reconcile.Result{}, err
	}
	decided := p.decide(res, observation)
	if decided.Creates() > 0 && p.spec.UserDataSecretRef != nil {
		if err := p.resolveUserData(ctx, &res); err != nil {
			return reconcile.Result{}, err
		}
		decided = p.decide(res, observation)
	}
	if decided.Gone {
		return p.finish(ctx, res, observation)
	}
	return p.carryOut(ctx, res, observation, decided)
}

// outOfSight reports whether nobody knows now which VMs the group has.
func outOfSight(res resolution, observation vsphere.Observation) bool {
	if res.unavailable != nil {
		return res.unavailable.Reason == v1alpha1.ReasonVCenterUnreachable
	}
	return !observation.Complete
}

// claim makes sure that the group carries our finalizer. It reports done for a group that is not ours to touch.
func (p *pass) claim(ctx context.Context) (done bool, err error) {
	if held, err := p.holdLegacy(ctx); held || err != nil {
		return true, err
	}
	if controllerutil.ContainsFinalizer(p.group, v1alpha1.VmGroupFinalizer) {
		return false, nil
	}
	if p.deleting() {
		return true, nil
	}
	if planted.Is(planted.DroppedFinalizer) {
		return false, nil
	}
	p.r.vanished.claiming(p.group, p.now)
	return false, p.patchFinalizers(ctx, controllerutil.AddFinalizer, v1alpha1.VmGroupFinalizer)
}

// look observes the group.
func (p *pass) look(ctx context.Context, res resolution) vsphere.Observation {
	observation := p.observe(res)
	if p.folder().IsZero() && observation.Complete && len(observation.VMs) > 0 {
		// VMs that carry the group's stamp, and a status that knows nothing of them: somebody wiped it. The folder
		// tells which of them are the group's and which are copies.
		if err := p.ensureFolder(ctx, res, observation); err == nil {
			return p.observe(res)
		}
	}
	return observation
}

// carryOut stores what was decided and then submits as much of it as the vCenter's budget allows.
func (p *pass) carryOut(ctx context.Context, res resolution, observation vsphere.Observation, decided plan.Plan) (reconcile.Result, error) {
	var folderErr error
	if decided.Creates() > 0 {
		if folderErr = p.ensureFolder(ctx, res, observation); folderErr != nil {
			decided = decided.Limit(0, decided.Tasks())
		}
	}
	if planted.Is(planted.ActBeforeIntent) {
		todo, slots := p.limit(res, decided)
		p.act(ctx, res, todo)
		slots.Release()
	}
	// Intents are stored before slots are taken: a member that answers slowly must not hold tasks that others
	// could run. VMs whose clone has not been sent yet show as Pending.
	p.acting = len(decided.Actions) > 0
	delay, err := p.report(ctx, res, observation, decided.Limit(0, 0), folderErr)
	if err != nil {
		return p.retryConflict(err)
	}
	todo, slots := p.limit(res, decided)
	defer slots.Release()
	failed := p.act(ctx, res, todo)
	if observation.FolderElsewhere || len(observation.Elsewhere) > 0 {
		p.unwatched = true
	}
	if folderErr != nil && vsphere.KindOf(folderErr) != vsphere.KindTransient {
		p.unwatched = true // a privilege or a moved folder: asking every two seconds helps nobody
	} else if folderErr != nil {
		failed = true
	}
	return reconcile.Result{RequeueAfter: p.wake(todo, delay, failed)}, nil
}

// overtaken reports whether a replica with a later epoch has written status. An epoch that no ring can have had was made up.
func (p *pass) overtaken() bool {
	o := p.group.Status.Ownership
	return o != nil && o.Epoch.Generation < sharding.MaxGeneration && v1alpha1.Epoch(p.epoch).Less(o.Epoch)
}

// neverActed reports whether nothing was ever asked of vCenter for this group: clones are sent only after
// status has recorded the folder and the intent. A status without a generation was never written, or was wiped,
// and proves nothing.
func (p *pass) neverActed() bool {
	s := &p.group.Status
	return s.ObservedGeneration != 0 && s.Folder == nil && len(s.VMs) == 0 && len(s.Deleting) == 0
}

func (p *pass) observe(res resolution) vsphere.Observation {
	if res.server == nil {
		return vsphere.Observation{Incomplete: res.unavailable.Message}
	}
	observation := res.server.Observe(query(p.id, &p.group.Status))
	if res.unavailable != nil {
		observation.Complete = false
		observation.Incomplete = res.unavailable.Message
	}
	if planted.Is(planted.PartialInventory) {
		observation.Complete = true
	}
	return observation
}

func (p *pass) folder() vsphere.Ref {
	if p.group.Status.Folder == nil {
		return vsphere.Ref{}
	}
	return vsphere.FolderRef(p.group.Status.Folder.MoRef)
}

func (p *pass) decide(res resolution, observation vsphere.Observation) plan.Plan {
	in := plan.Input{
		Now: p.now, Name: p.group.Name, ID: p.id, Folder: p.folder(),
		Spec: p.spec, Revision: p.revision, UpdateRevision: p.revision,
		Deleting: p.deleting(), Paused: p.paused(), CreateBlocked: res.createBlocked,
		Observation: observation, Known: known(&p.group.Status), Doomed: p.group.Status.Deleting,
	}
	if p.hold.Held {
		in.MayStay = ptr.Deref(p.group.Spec.Replicas, 1)
	}
	if p.hold.Reshaped {
		in.UpdateRevision = plan.Revision(p.group.Spec)
	}
	return plan.Compute(in)
}

func (p *pass) paused() *plan.Blocker {
	switch {
	case p.group.Spec.Paused:
		return &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true: nothing is done until it is set to false"}
	case pausedByAnnotation(p.group.Annotations):
		return &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: fmt.Sprintf("annotation %s is %q: nothing is done until it is removed or set to \"false\"",
			v1alpha1.PausedAnnotation, group.Truncate(p.group.Annotations[v1alpha1.PausedAnnotation], 40))}
	case p.member.Paused:
		return &plan.Blocker{Reason: v1alpha1.ReasonMemberPaused, Message: fmt.Sprintf("MemberCluster %q is paused on the hub: nothing is done until it goes on", p.member.Name)}
	}
	return nil
}

// pausedByAnnotation fails safe: somebody who annotates a group in an incident and misspells the value wants it
// held. Only what reads as false, or nothing, does not pause.
func pausedByAnnotation(annotations map[string]string) bool {
	value := annotations[v1alpha1.PausedAnnotation]
	if value == "" {
		return false
	}
	paused, err := strconv.ParseBool(value)
	return paused || err != nil
}

// ensureFolder makes sure that the group's folder exists and that its reference goes into status with the
// intent to clone.
func (p *pass) ensureFolder(ctx context.Context, res resolution, observation vsphere.Observation) error {
	if observation.FolderElsewhere {
		return &vsphere.Error{Kind: vsphere.KindConflict, Op: "clone into the group's folder", Err: fmt.Errorf(
			"folder %s (%s) was moved out of the operator's root folder; move it back", p.group.Status.Folder.Path, p.group.Status.Folder.MoRef)}
	}
	if !p.folder().IsZero() && !observation.FolderGone {
		return nil
	}
	path := vsphere.FolderPath{Member: p.member.Name, Namespace: p.group.Namespace, Leaf: folderName(p.group)}
	if planted.Is(planted.JoinedFolderName) {
		path.Namespace, path.Leaf = "groups", p.group.Namespace+"-"+p.group.Name
	}
	folder, err := res.server.EnsureFolder(ctx, path)
	if err != nil {
		log.FromContext(ctx).Info("Could not create the group's folder", "reason", err.Error())
		return err
	}
	p.group.Status.Folder = &v1alpha1.FolderStatus{Path: folder.Path, MoRef: folder.Ref.Value}
	p.group.Status.VCenter = res.vcenter
	return nil
}

// folderName is unique for ever, unlike the group's name: <group>.<first 8 of its UID>.
func folderName(group *v1alpha1.VmGroup) string {
	uid := string(group.UID)
	return group.Name + "." + uid[:min(8, len(uid))]
}

// limit asks the vCenter's budget for slots and cuts the plan to what was granted.
func (p *pass) limit(res resolution, decided plan.Plan) (plan.Plan, grants) {
	var g grants
	if res.server == nil {
		return decided, g
	}
	// Asking for none takes back what an earlier pass asked for, so that nobody waits for a group in backoff.
	uid := string(p.group.UID)
	others := res.server.Acquire(uid, "", decided.Tasks())
	g = append(g, others)
	clones := 0
	if host := res.template.Host; host != "" { // no template, no clones
		slots := res.server.Acquire(uid, host, decided.Creates())
		g, clones = append(g, slots), slots.Granted()
	}
	return decided.Limit(clones, others.Granted()), g
}

// grants are the slots of one pass.
type grants []vsphere.Slots

// Release gives back what was not used.
func (g grants) Release() {
	for _, slots := range g {
		slots.Release()
	}
}

// finish removes the group's folder and lets the group go.
func (p *pass) finish(ctx context.Context, res resolution, observation vsphere.Observation) (reconcile.Result, error) {
	if folder := p.folder(); !folder.IsZero() && !observation.FolderGone {
		switch err := res.server.DestroyFolder(ctx, folder); {
		case err == nil:
		case vsphere.KindOf(err) == vsphere.KindNotEmpty && len(observation.VMs) > 0:
			p.event("Normal", "FolderKept", "Delete", fmt.Sprintf("vCenter folder %s holds objects that are not this group's and is left in place", p.group.Status.Folder.Path))
		default:
			// A folder that is not empty although nothing is seen in it may be about to show a VM of ours.
			log.FromContext(ctx).Info("Could not remove the group's folder", "reason", err.Error())
			blocker := plan.Blocker{Message: err.Error()}
			blocker.Reason, blocker.Terminal = plan.Explain(err)
			if err := p.reportBlocked(ctx, blocker); err != nil {
				return p.retryConflict(err)
			}
			return reconcile.Result{RequeueAfter: 10 * time.Second}, nil
		}
	}
	if p.vanished != nil {
		log.FromContext(ctx).Info("The deletion of a group that was removed in spite of its finalizer is complete", "uid", p.group.UID)
		p.r.bury(*p.vanished)
	} else if err := p.patchFinalizers(ctx, controllerutil.RemoveFinalizer, v1alpha1.VmGroupFinalizer); err != nil {
		return p.retryConflict(client.IgnoreNotFound(err))
	}
	if res.server != nil {
		res.server.Forget(string(p.group.UID))
	}
	if p.r.Quotas != nil {
		p.r.Quotas.GiveBack(p.group.UID, policy.Usage{}, v1alpha1.Epoch(p.epoch))
	}
	return reconcile.Result{}, nil
}

// patchFinalizers changes the group's finalizers with an optimistic lock: finalizers are an atomic list, and
// those of others must not get lost.
func (p *pass) patchFinalizers(ctx context.Context, change func(client.Object, string) bool, finalizer string) error {
	change(p.group, finalizer)
	patch := client.MergeFromWithOptions(p.base, client.MergeFromWithOptimisticLock{})
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := p.client.Patch(ctx, p.group, patch); err != nil {
		return fmt.Errorf("write finalizers: %w", err)
	}
	p.r.writes.wrote(p.group.UID, p.group.ResourceVersion, time.Time{})
	p.base = p.group.DeepCopy()
	return nil
}

// retryConflict lets a pass end quietly when the object changed since it was read: the change itself brings
// the group back. Nothing was sent to vCenter on the strength of the write that failed.
func (p *pass) retryConflict(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{}, err
}

// wake returns when to look again although nothing changed; zero for never.
func (p *pass) wake(decided plan.Plan, delay time.Duration, failed bool) time.Duration {
	after := delay
	sooner := func(d time.Duration) {
		if d = max(d, 10*time.Millisecond); after == 0 || d < after {
			after = d
		}
	}
	if !decided.WakeAt.IsZero() {
		sooner(decided.WakeAt.Sub(p.now))
	}
	if deadline := group.ProgressDeadline(&p.group.Status, p.group.Spec); deadline.After(p.now) {
		sooner(deadline.Sub(p.now))
	}
	if failed {
		sooner(2 * time.Second)
	}
	if p.unwatched {
		sooner(unwatchedInterval)
	}
	return after
}
