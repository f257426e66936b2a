package enroll

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// Join makes the hub serve the member, and reports each step. A failure before the MemberCluster is written removes what this call has created.
func Join(ctx context.Context, p *Preparation, r *Registration, report Reporter) error {
	if err := errors.Join(p.Rehearse(ctx), r.Rehearse(ctx)); err != nil {
		return err
	}
	report.Done("you may create the identities in the member, and the MemberCluster on the hub", "")
	report.Done("no other hub serves this member", "")
	all, created, changed, err := p.Objects(ctx)
	if err != nil {
		return undone(err, p)
	}
	report.Done(fmt.Sprintf("%d objects in the member: identities, roles, token policy", all), changes(all, created, changed))
	has, err := r.HasCredentials(ctx, p.Address)
	if err != nil {
		return undone(err, p)
	}
	if has && !p.journal.made("Secret") && !p.journal.made("ServiceAccount") { // otherwise the tokens were revoked
		report.Done("the operator renews the tokens", "unchanged")
	} else {
		bundle, err := p.Tokens(ctx)
		if err != nil {
			return undone(err, p)
		}
		if err := r.Secret(ctx, bundle); err != nil {
			return undone(err, r, p)
		}
		report.Done("tokens, which the operator renews, in Secret "+r.secretName(), "valid until "+bundle.Expires.UTC().Format(time.RFC3339))
	}
	said, err := r.MemberCluster(ctx)
	if err != nil {
		return undone(err, r, p)
	}
	report.Done("MemberCluster "+r.Name, said)
	return nil
}

// Accept makes the hub serve the member of a bundle. It needs no access to the member.
func Accept(ctx context.Context, b *Bundle, r *Registration, report Reporter) error {
	if err := r.Rehearse(ctx); err != nil {
		return err
	}
	report.Done("you may create the MemberCluster on the hub", "")
	if err := r.Secret(ctx, b); err != nil {
		return undone(err, r)
	}
	report.Done("tokens, which the operator renews, in Secret "+r.secretName(), "valid until "+b.Expires.UTC().Format(time.RFC3339))
	said, err := r.MemberCluster(ctx)
	if err != nil {
		return undone(err, r)
	}
	report.Done("MemberCluster "+r.Name, said)
	return nil
}

// undoable removes what it has created.
type undoable interface {
	Undo(ctx context.Context) error
}

// undoTime is the time limit of an undo, also if the user has interrupted the command.
const undoTime = 10 * time.Second

// undone returns the failure, after it removed what was created. What could not be removed is part of it.
func undone(failed error, all ...undoable) error {
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	for _, each := range all {
		if err := each.Undo(ctx); err != nil {
			failed = fmt.Errorf("%w. Not everything that this run created could be removed (%w): run the same command again to complete it", failed, err)
		}
	}
	return failed
}

// changes describes what a run has done to one or more objects.
func changes(all, created, changed int) string {
	switch {
	case changed == 0:
		return "unchanged"
	case created == all:
		return "created"
	case created == 0 && changed == all:
		return "changed"
	case created == changed:
		return fmt.Sprintf("%d created", created)
	}
	return fmt.Sprintf("%d created, %d changed", created, changed-created)
}

// Prepare makes the member side only. Its bundle is for the administrator of the hub. A failure removes what this call has created.
func Prepare(ctx context.Context, p *Preparation, member cluster.Facts) (*Bundle, error) {
	if err := fit(ctx, p.Member, member); err != nil {
		return nil, err
	}
	if err := p.Rehearse(ctx); err != nil {
		return nil, err
	}
	if _, _, _, err := p.Objects(ctx); err != nil {
		return nil, undone(err, p)
	}
	bundle, err := p.Tokens(ctx)
	if err != nil {
		return nil, undone(err, p)
	}
	return bundle, nil
}

// Replace gives the operator new tokens, after the earlier ones were revoked.
func Replace(ctx context.Context, p *Preparation, r *Registration, report Reporter) error {
	if _, _, _, err := p.Objects(ctx); err != nil {
		return err
	}
	if err := Renew(ctx, p, r, report); err != nil {
		return err
	}
	_, err := r.MemberCluster(ctx)
	return err
}

// Renew gives the operator new tokens of identities that exist.
func Renew(ctx context.Context, p *Preparation, r *Registration, report Reporter) error {
	bundle, err := p.Tokens(ctx)
	if err != nil {
		return err
	}
	if err := r.Secret(ctx, bundle); err != nil {
		return err
	}
	report.Done("the operator has new tokens in Secret "+r.secretName(), "valid until "+bundle.Expires.UTC().Format(time.RFC3339))
	return nil
}
