package webhook

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

type vcenterValidator struct{}

var _ admission.Validator[*v1alpha1.VCenter] = vcenterValidator{}

// ValidateCreate checks a new VCenter.
func (v vcenterValidator) ValidateCreate(_ context.Context, vc *v1alpha1.VCenter) (admission.Warnings, error) {
	return v.check(vc, nil)
}

// ValidateUpdate checks a VCenter whose spec changes.
func (v vcenterValidator) ValidateUpdate(_ context.Context, old, vc *v1alpha1.VCenter) (admission.Warnings, error) {
	if vc.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(old.Spec, vc.Spec) {
		return nil, nil
	}
	return v.check(vc, old)
}

// ValidateDelete allows every deletion.
func (v vcenterValidator) ValidateDelete(context.Context, *v1alpha1.VCenter) (admission.Warnings, error) {
	return nil, nil
}

func (v vcenterValidator) check(vc, old *v1alpha1.VCenter) (admission.Warnings, error) {
	spec := field.NewPath("spec")
	if err := vcenterSize(spec, vc); err != nil {
		return nil, refuse("VCenter", vc.Name, field.ErrorList{err})
	}
	var warn warnings
	var errs field.ErrorList
	insecure := vc.Spec.TLS != nil && vc.Spec.TLS.InsecureSkipVerify
	server := vc.Spec.Server
	if err := checkServer(spec.Child("server"), server, insecure); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, checkTLS(spec.Child("tls"), vc.Spec.TLS, &warn)...)
	errs = append(errs, checkGrants(spec.Child("grants"), vc.Spec.Grants)...)
	errs = append(errs, checkLegacyFolders(spec.Child("legacyFolders"), vc.Spec.LegacyFolders)...)
	if vc.Spec.Templates != nil {
		errs = append(errs, checkPatterns(spec.Child("templates", "folders"), vc.Spec.Templates.Folders)...)
	}
	if limits := vc.Spec.Limits; limits.Tasks > 0 && limits.TasksPerHost > limits.Tasks {
		warn.add(fmt.Sprintf("spec.limits.tasksPerHost: %d has no effect above tasks, which is %d", limits.TasksPerHost, limits.Tasks))
	}
	warnOfMove(vc, old, &warn)
	return warn.result(), refuse("VCenter", vc.Name, atMostCauses(errs))
}

// checkServer refuses addresses to which the operator would not connect. It does not quote an address that can contain
// a password.
func checkServer(where *field.Path, server string, insecure bool) *field.Error {
	if server == "" {
		return nil // VC_HOST of the Secret
	}
	u, err := parseServer(server)
	switch {
	case err != nil || u.Hostname() == "":
		return field.Invalid(where, field.OmitValueType{}, "must be a URL of the form https://<host>[:port]")
	case u.User != nil:
		return field.Invalid(where, field.OmitValueType{}, "must not contain a user name or password; put them into the Secret")
	case u.Scheme == "http" && !insecure:
		return field.Invalid(where, server, "must use https; http would send the password in the clear")
	case u.Scheme != "https" && u.Scheme != "http":
		return field.Invalid(where, server, fmt.Sprintf("must use https, not %q", u.Scheme))
	case u.RawQuery != "" || u.Fragment != "" || !slices.Contains([]string{"", "/", "/sdk", "/sdk/"}, u.Path):
		// A Secret that names a host means the vCenter on it, not another application of that host.
		return field.Invalid(where, field.OmitValueType{}, "may have a host, a port and the path /sdk only")
	}
	return nil
}

func parseServer(server string) (*url.URL, error) {
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	return url.Parse(server)
}

func checkTLS(where *field.Path, tls *v1alpha1.TLSConfig, warn *warnings) field.ErrorList {
	if tls == nil {
		return nil
	}
	var errs field.ErrorList
	if tls.CABundle != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(tls.CABundle)) {
		errs = append(errs, field.Invalid(where.Child("caBundle"), untrusted.Text(tls.CABundle, 32), "holds no PEM certificate"))
	}
	if tls.Thumbprint != "" {
		raw, err := hex.DecodeString(strings.ReplaceAll(tls.Thumbprint, ":", ""))
		if err != nil || (len(raw) != 20 && len(raw) != 32) {
			errs = append(errs, field.Invalid(where.Child("thumbprint"), tls.Thumbprint,
				"must be the SHA-1 or SHA-256 of the server's certificate, 20 or 32 bytes in hexadecimal"))
		}
	}
	if tls.InsecureSkipVerify {
		warn.add("spec.tls.insecureSkipVerify: anybody on the network path can read the password of this vCenter")
	}
	return errs
}

func checkGrants(where *field.Path, grants []v1alpha1.Grant) field.ErrorList {
	var errs field.ErrorList
	for i, grant := range grants {
		if len(errs) >= maxCauses {
			break
		}
		at := where.Index(i)
		errs = append(errs, checkMemberPatterns(at.Child("memberClusters"), grant.MemberClusters)...)
		errs = append(errs, checkSelector(at.Child("namespaceSelector"), grant.NamespaceSelector)...)
		errs = append(errs, checkPatterns(at.Child("templates"), grant.Templates)...)
		errs = append(errs, checkPatterns(at.Child("resourcePools"), grant.ResourcePools)...)
		errs = append(errs, checkPatterns(at.Child("datastores"), grant.Datastores)...)
		errs = append(errs, checkPatterns(at.Child("networks"), grant.Networks)...)
	}
	return errs
}

// checkLegacyFolders refuses a folder that is granted twice, also in another spelling, and a group with two folders.
func checkLegacyFolders(where *field.Path, folders []v1alpha1.LegacyFolder) field.ErrorList {
	type groupKey struct{ member, namespace, name string }
	var errs field.ErrorList
	paths, groups := map[string]bool{}, map[groupKey]bool{}
	for i, folder := range folders {
		path, group := v1alpha1.LegacyFolderKey(folder.Folder), groupKey{folder.MemberCluster, folder.Namespace, folder.Group}
		switch {
		case paths[path]:
			errs = append(errs, field.Duplicate(where.Index(i).Child("folder"), folder.Folder))
		case groups[group]:
			errs = append(errs, field.Duplicate(where.Index(i).Child("group"), folder.Group))
		}
		paths[path], groups[group] = true, true
	}
	return errs
}

// warnOfMove warns if VMs would be left behind.
func warnOfMove(vc, old *v1alpha1.VCenter, warn *warnings) {
	if old != nil && old.Status.VMs > 0 && old.Spec.Place() != vc.Spec.Place() {
		warn.add(fmt.Sprintf("%d VMs are in the place that this VCenter names now; they do not move, and their groups will wait for them", old.Status.VMs))
	}
}
