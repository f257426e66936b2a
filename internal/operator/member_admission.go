package operator

import (
	"cmp"
	"errors"

	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// memberAdmission renders the objects that enforce policies at admission in members.
type memberAdmission struct {
	// url is where members reach the webhooks, if their MemberCluster has no other URL.
	url      string
	policies func() (*policy.Set, bool)
	// certificates is nil without webhooks.
	certificates *trust.Rotator
}

var (
	errPoliciesUnread     = errors.New("the VmGroupPolicies of the hub have not been read yet")
	errCertificatesUnread = errors.New("the certificates of the hub's webhooks have not been read yet")
)

// Objects implements install.Renderer.
func (a *memberAdmission) Objects(target install.Target) (install.Bundle, error) {
	out := install.Bundle{}
	for _, known := range objects.Known() {
		out.Known = append(out.Known, install.Object{GroupVersionKind: known.GroupVersionKind, Name: known.Name})
	}
	if target.Leaving {
		return out, nil
	}
	set, ok := a.policies()
	switch {
	case !ok:
		return out, errPoliciesUnread
	case a.certificates != nil && !a.certificates.Known():
		return out, errCertificatesUnread // after a start, members must not lose their webhooks for a moment
	}
	in, period := a.input(target)
	var err error
	if in.Limits, err = objects.Compile(set, target.Name); err != nil {
		return out, err
	}
	bundle, err := objects.Render(in)
	if err != nil {
		return out, err
	}
	out.Objects, out.CABundleHash, out.NoWebhook = bundle.Objects, bundle.CABundleHash, bundle.NoWebhook
	if out.CABundleHash != "" {
		out.SegmentPeriod = int64(period)
	}
	return out, nil
}

// CABundleHash implements install.Renderer.
func (a *memberAdmission) CABundleHash(target install.Target) string {
	in, _ := a.input(target)
	if in.WebhookBase == "" || in.Segment == "" {
		return ""
	}
	return objects.BundleHash(in.CABundle)
}

// input returns the input from which a member's objects are rendered, without the limits, and the period of
// the segment in it.
func (a *memberAdmission) input(target install.Target) (in objects.Input, period trust.Period) {
	in = objects.Input{
		Member: target.Name, FailurePolicy: target.FailurePolicy,
		Exempt: target.Exempt, ServesMutatingPolicies: target.ServesMutatingPolicies,
	}
	if a.certificates != nil {
		in.WebhookBase = cmp.Or(target.URL, a.url)
		in.Segment, period, _ = a.certificates.Segment(target.Name, target.UID, target.NotOurs)
		in.CABundle, _ = a.certificates.Bundle()
	}
	return in, period
}
