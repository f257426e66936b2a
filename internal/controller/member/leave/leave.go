// Package leave cleans up a member that is removed, so that it stays usable without the operator.
package leave

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Departure is how a member was left.
type Departure struct {
	// Cleaned: the member was the operator's, and was cleaned up.
	Cleaned bool
	// LetGo is the number of groups that lost our finalizer.
	LetGo int
	// LeftBehind says what could not be cleaned up and what to do about it, "" if nothing.
	LeftBehind string
}

// Link is the connection by which a member is left.
type Link interface {
	sharding.Leader // whether the member may be written to now
	// Sibling is another MemberCluster that is the same cluster, "" if there is none.
	Sibling() string
	// Pause waits for d or a wake-up; it returns false when the connection is to end.
	Pause(d time.Duration) bool
}

// Leaver leaves one member: first it removes what calls or needs the operator at the member's door, then our finalizer on its
// groups, then the parameters, then the claim. CRDs, groups and VMs stay. Every step can be repeated, and the claim comes last:
// as long as it is held, no other hub begins.
type Leaver struct {
	Options *settings.Options
	Target  *settings.Target
	Pace    *remote.Pace
	Link    Link
	Log     logr.Logger

	letGo map[types.UID]struct{}
	// letGoBytes is about what letGo needs in memory.
	letGoBytes int64
	// kept are admission objects that are somebody else's to remove (spec.manage None).
	kept []string
}

// Leave cleans up until life ends. The incarnation before has ended, so this replica acts on the member no
// more. A member that cannot be reached does not hold up its removal for ever: after Timings.Leave it is let go, and
// LeftBehind tells a person so. A replica that does not lead any more gives up, and left is false; the next leader begins anew.
func (l *Leaver) Leave(life context.Context) (how Departure, left bool) {
	switch sibling := l.Link.Sibling(); {
	case l.Target.KnownUID == "":
		return Departure{}, true // it never had a cluster, so nothing anywhere is its own
	case l.Target.Config == nil:
		return Departure{LeftBehind: l.leftBehind("There is no usable kubeconfig.")}, true
	case sibling != "":
		l.Log.Info("The claim on the member stays: another MemberCluster is the same cluster", "other", sibling)
		return Departure{}, true
	}
	ctx, cancel := context.WithTimeout(life, l.Options.Timings.Leave)
	defer cancel()
	pause := l.Options.Timings.Retry()
	var last error
	l.letGo = map[types.UID]struct{}{}
	for {
		err := l.attempt(ctx)
		var known *remote.Problem
		switch {
		case err == nil:
			l.Log.Info("The member was left", "groups", len(l.letGo))
			return l.departure(""), true
		case errors.Is(err, remote.ErrNotLeading):
			return Departure{}, false
		case errors.As(err, &known) && known.Reason == v1alpha1.ReasonClaimedByAnotherHub:
			return Departure{}, true // nothing there is ours
		}
		l.Log.Error(err, "The member could not be cleaned up")
		if ctx.Err() == nil || last == nil {
			last = err // and not that our own time was up
		}
		wait := pause.Step()
		deadline, _ := ctx.Deadline()
		tooLate := ctx.Err() != nil || l.Options.Now().Add(wait).After(deadline) || !l.Link.Pause(wait)
		if life.Err() != nil {
			return Departure{}, false // the operator stops: the next process goes on, the finalizer is still there
		}
		if tooLate {
			return l.giveUp(life, last), true
		}
	}
}

// giveUp ends the leaving with what could not be done. A member that answers at least gets a new owner.
func (l *Leaver) giveUp(ctx context.Context, err error) Departure {
	var known *remote.Problem
	why := ""
	switch {
	case errors.As(err, &known):
		why = known.Message
	case remote.Answered(err):
		why = fmt.Sprintf("%s answers: %s.", l.Target.Config.Host, strings.TrimSuffix(remote.AnswerOf(err), "."))
		if err := l.withAPIs(func(apis remote.APIs) error { return l.release(ctx, apis) }); err != nil {
			l.Log.Error(err, "The claim on the member could not be released")
		}
	default:
		why = remote.AsProblem(l.Target.Config.Host, err).Message
	}
	return l.departure(why)
}

// attempt goes through all steps.
func (l *Leaver) attempt(ctx context.Context) error {
	return l.withAPIs(func(apis remote.APIs) error {
		defer context.AfterFunc(ctx, apis.End)()
		if err := l.mine(ctx, apis); err != nil {
			return err
		}
		bundle, err := l.bundle()
		if err != nil {
			return err
		}
		l.kept = nil
		// An API server goes by a policy for a moment after its binding was deleted, and refuses every write of a group when
		// the parameter is gone by then. A refused object must not keep the groups from being let go.
		doors, parameters := splitParameters(bundle.Known)
		if err := errors.Join(l.removeObjects(ctx, apis, doors), l.letGroupsGo(ctx, apis)); err != nil {
			return err
		}
		if err := l.removeObjects(ctx, apis, parameters); err != nil {
			return err
		}
		return l.release(ctx, apis)
	})
}

func (l *Leaver) withAPIs(do func(remote.APIs) error) error {
	apis, err := l.Options.APIs(l.Target, l.Pace, l.Link)
	if err != nil {
		return err
	}
	defer apis.End()
	return do(apis)
}

// mine makes sure that the member is the one that was joined, and ours. A claim that is missing is taken: between two
// owners nobody may remove anything. That of a predecessor is not: who removes a MemberCluster takes nothing over.
func (l *Leaver) mine(ctx context.Context, apis remote.APIs) error {
	opts := l.Options
	uid, err := apis.Runtime.ClusterUID(ctx, opts.Timings.Request)
	if err != nil {
		return err
	}
	if uid != l.Target.KnownUID {
		return l.Target.AnotherCluster(uid)
	}
	if err := apis.SameCluster(ctx, uid); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timings.Request)
	defer cancel()
	by := opts.Claimant(l.Target)
	by.Predecessor = ""
	if err = install.TakeClaim(ctx, apis.Bootstrap.Client, by); err != nil && !errors.Is(err, install.ErrClaimMissing) {
		return apis.BootstrapProblem(err)
	}
	return err
}

// bundle has the admission objects in their order of removal.
func (l *Leaver) bundle() (install.Bundle, error) {
	if l.Options.Renderer == nil {
		return install.Bundle{}, nil
	}
	bundle, err := l.Options.Renderer.Objects(install.Target{Name: l.Target.Name, UID: l.Target.UID,
		FailurePolicy: l.Target.Admission.FailurePolicy, Leaving: true})
	if err != nil {
		return install.Bundle{}, fmt.Errorf("list the admission objects: %w", err)
	}
	return bundle, nil
}

// splitParameters takes the parameters of policies out of what is to be removed. The order stays.
func splitParameters(known []install.Object) (doors, parameters []install.Object) {
	for _, object := range known {
		if object.IsParameter() {
			parameters = append(parameters, object)
		} else {
			doors = append(doors, object)
		}
	}
	return doors, parameters
}

// removeObjects removes admission objects in the order given. It goes on after a refusal.
func (l *Leaver) removeObjects(ctx context.Context, apis remote.APIs, objects []install.Object) error {
	if l.Target.Manage == v1alpha1.ManageNone {
		return l.keepObjects(ctx, apis, objects)
	}
	refused, err := install.Remove(ctx, apis.Bootstrap, objects)
	if err != nil {
		return apis.BootstrapProblem(err)
	}
	if len(refused) > 0 {
		return fmt.Errorf("remove %s: %w", refused[0].Object, refused[0].Err)
	}
	return nil
}

// keepObjects notes the admission objects that somebody else has to remove.
func (l *Leaver) keepObjects(ctx context.Context, apis remote.APIs, objects []install.Object) error {
	for _, object := range objects {
		version, err := install.VersionIn(ctx, apis.Bootstrap, object)
		if version != "" {
			l.kept = append(l.kept, object.String())
		}
		if err != nil && !apierrors.IsForbidden(err) {
			return apis.BootstrapProblem(err)
		}
	}
	return nil
}

// release deletes the claim.
func (l *Leaver) release(ctx context.Context, apis remote.APIs) error {
	ctx, cancel := context.WithTimeout(ctx, l.Options.Timings.Request)
	defer cancel()
	if err := install.ReleaseClaim(ctx, apis.Bootstrap.Client, l.Options.InstallationUID); err != nil {
		return apis.BootstrapProblem(err)
	}
	return nil
}

// departure sums up; why says what kept the member from being cleaned up, and is empty if nothing did.
func (l *Leaver) departure(why string) Departure {
	result := Departure{Cleaned: why == "", LetGo: len(l.letGo)}
	switch {
	case why != "":
		result.LeftBehind = l.leftBehind(why)
	case len(l.kept) > 0:
		result.LeftBehind = fmt.Sprintf("spec.manage is None, so the admission objects stay in the member (%s) and continue to "+
			"refuse VmGroups. `manager render --leave --member %s` prints how to remove them.", strings.Join(l.kept, ", "), l.Target.Name)
	}
	return result
}

// leftBehind tells a person what to do in a member that could not be cleaned up.
func (l *Leaver) leftBehind(why string) string {
	return fmt.Sprintf("The member could not be cleaned up: %s Its admission objects, the finalizer %s on its VmGroups, or the "+
		"claim (ConfigMap %s in namespace %s) may still be there. Run in the member what `manager render --leave --member %s` "+
		"prints; before, VmGroups and their namespaces cannot be deleted there, and another hub cannot serve it.",
		untrusted.Text(why, 400), v1alpha1.VmGroupFinalizer, install.ClaimName, metav1.NamespaceSystem, l.Target.Name)
}
