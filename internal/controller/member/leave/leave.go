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

// Departure is the result of leaving a member.
type Departure struct {
	// Cleaned: the member was the operator's, and was cleaned up.
	Cleaned bool
	// LetGo is the number of groups that lost our finalizer.
	LetGo int
	// LeftBehind names the objects that were not cleaned up and how to remove them, "" if none.
	LeftBehind string
}

// Link is the connection through which a member is left.
type Link interface {
	sharding.Leader // whether the operator can write to the member now
	// Sibling is another MemberCluster that is the same cluster, "" if there is none.
	Sibling() string
	// Pause waits for d or a wake-up; it returns false if the connection must end.
	Pause(d time.Duration) bool
}

// Leaver leaves one member. First it removes the admission objects that call or need the operator, then the finalizer on its
// groups, then the parameters, then the claim. CRDs, groups and VMs stay. Every step can be repeated, and the claim comes last:
// as long as it exists, no other hub begins.
type Leaver struct {
	Options *settings.Options
	Target  *settings.Target
	Pace    *remote.Pace
	Link    Link
	Log     logr.Logger

	letGo map[types.UID]struct{}
	// letGoBytes is the approximate memory that letGo needs.
	letGoBytes int64
	// kept are admission objects that the operator does not manage (spec.manage None).
	kept []string
}

// Leave cleans up until life ends. The previous incarnation has ended, so this replica no longer acts on the member in other
// ways. An unreachable member does not block its removal forever: after Timings.Leave, Leave gives up, and LeftBehind reports
// this to a user. A replica that no longer leads stops, and left is false; the next leader begins anew.
func (l *Leaver) Leave(life context.Context) (how Departure, left bool) {
	switch sibling := l.Link.Sibling(); {
	case l.Target.KnownUID == "":
		return Departure{}, true // it never had a cluster, so no object of it exists
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
			return Departure{}, true // the member has no object of this installation
		}
		l.Log.Error(err, "The member could not be cleaned up")
		if ctx.Err() == nil || last == nil {
			last = err // and not by a timeout of the operator
		}
		wait := pause.Step()
		deadline, _ := ctx.Deadline()
		tooLate := ctx.Err() != nil || l.Options.Now().Add(wait).After(deadline) || !l.Link.Pause(wait)
		if life.Err() != nil {
			return Departure{}, false // the operator stops: the next process continues, because the finalizer still exists
		}
		if tooLate {
			return l.giveUp(life, last), true
		}
	}
}

// giveUp ends the leaving and reports the unfinished work. A member that answers at least becomes free for a new owner.
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

// attempt runs all steps.
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
		// For a moment after the deletion of its binding, an API server still enforces a policy. If the parameter no longer exists,
		// it refuses every write of a group. A refused object must not prevent the removal of finalizers.
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

// mine verifies that the member is the one that was joined, and ours. It takes a missing claim, because without an owner no
// installation can remove objects. It does not take the claim of a predecessor: the removal of a MemberCluster takes nothing
// over.
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

// splitParameters takes the parameters of policies out of the objects to remove. The order stays.
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

// removeObjects removes admission objects in the order given. It continues after a refusal.
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

// keepObjects records the admission objects that must be removed outside the operator.
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

// departure summarizes the result; why is the reason why the member was not cleaned up, or empty.
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

// leftBehind describes how to clean up a member that the operator could not clean up.
func (l *Leaver) leftBehind(why string) string {
	return fmt.Sprintf("The member could not be cleaned up: %s Its admission objects, the finalizer %s on its VmGroups, or the "+
		"claim (ConfigMap %s in namespace %s) may still be there. Run in the member what `manager render --leave --member %s` "+
		"prints; before, VmGroups and their namespaces cannot be deleted there, and another hub cannot serve it.",
		untrusted.Text(why, 400), v1alpha1.VmGroupFinalizer, install.ClaimName, metav1.NamespaceSystem, l.Target.Name)
}
