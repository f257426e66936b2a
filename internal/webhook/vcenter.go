package webhook

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// vcenterValidator checks VCenters.
type vcenterValidator struct{ hub }

var _ admission.Validator[*v1alpha1.VCenter] = vcenterValidator{}

// ValidateCreate checks a new VCenter.
func (v vcenterValidator) ValidateCreate(ctx context.Context, vc *v1alpha1.VCenter) (admission.Warnings, error) {
	return v.check(ctx, vc, nil)
}

// ValidateUpdate checks a VCenter whose spec changes.
func (v vcenterValidator) ValidateUpdate(ctx context.Context, old, vc *v1alpha1.VCenter) (admission.Warnings, error) {
	if vc.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(old.Spec, vc.Spec) {
		return nil, nil
	}
	return v.check(ctx, vc, old)
}

// ValidateDelete allows.
func (v vcenterValidator) ValidateDelete(context.Context, *v1alpha1.VCenter) (admission.Warnings, error) {
	return nil, nil
}

func (v vcenterValidator) check(ctx context.Context, vc, old *v1alpha1.VCenter) (admission.Warnings, error) {
	spec := field.NewPath("spec")
	var warn warnings
	var errs field.ErrorList
	insecure := vc.Spec.TLS != nil && vc.Spec.TLS.InsecureSkipVerify
	server := vc.Spec.Server
	where := spec.Child("credentialsSecretRef", "name")
	if secret := v.secret(ctx, where, vc.Spec.CredentialsSecretRef.Name, &warn); secret != nil {
		has := func(keys ...string) bool {
			for _, key := range keys {
				if len(secret.Data[key]) > 0 {
					return true
				}
			}
			return false
		}
		if !has("username", "VC_USER") || !has("password", "VC_PASS") {
			warn.add(fmt.Sprintf("%s: Secret %q needs keys username and password (or VC_USER and VC_PASS), and none of them empty", where, secret.Name))
		}
		if server == "" && !has("VC_HOST") {
			warn.add(fmt.Sprintf("spec.server: is empty, and Secret %q has no VC_HOST; set it to https://<host>", secret.Name))
		}
	}
	errs = append(errs, checkServer(spec.Child("server"), server, insecure)...)
	errs = append(errs, checkTLS(spec.Child("tls"), vc.Spec.TLS, &warn)...)
	errs = append(errs, checkGrants(spec.Child("grants"), vc.Spec.Grants)...)
	errs = append(errs, checkLegacyFolders(spec.Child("legacyFolders"), vc.Spec.LegacyFolders)...)
	if vc.Spec.Templates != nil {
		errs = append(errs, checkPatterns(spec.Child("templates", "folders"), vc.Spec.Templates.Folders)...)
	}
	if limits := vc.Spec.Limits; limits.Tasks > 0 && limits.TasksPerHost > limits.Tasks {
		warn.add(fmt.Sprintf("spec.limits.tasksPerHost: %d has no effect above tasks, which is %d", limits.TasksPerHost, limits.Tasks))
	}
	v.checkPlace(ctx, vc, old, &warn)
	return warn.result(), refuse("VCenter", vc.Name, errs)
}

// checkServer refuses addresses that the operator would not connect to. It does not quote one that may hold a password.
func checkServer(where *field.Path, server string, insecure bool) field.ErrorList {
	if server == "" {
		return nil // VC_HOST of the Secret
	}
	u, err := parseServer(server)
	switch {
	case err != nil || u.Hostname() == "":
		return field.ErrorList{field.Invalid(where, field.OmitValueType{}, "must be a URL of the form https://<host>[:port]")}
	case u.User != nil:
		return field.ErrorList{field.Invalid(where, field.OmitValueType{}, "must not contain a user name or password; put them into the Secret")}
	case u.Scheme == "http" && !insecure:
		return field.ErrorList{field.Invalid(where, server, "must use https; http would send the password in the clear")}
	case u.Scheme != "https" && u.Scheme != "http":
		return field.ErrorList{field.Invalid(where, server, fmt.Sprintf("must use https, not %q", u.Scheme))}
	case u.RawQuery != "" || u.Fragment != "":
		return field.ErrorList{field.Invalid(where, field.OmitValueType{}, "may have a host, a port and the path /sdk only")}
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
		errs = append(errs, field.Invalid(where.Child("caBundle"), shorten(tls.CABundle, 32), "holds no PEM certificate"))
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
	errs := make(field.ErrorList, 0, len(grants))
	for i, grant := range grants {
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

// checkLegacyFolders refuses a folder that is granted twice, also in another spelling, and a group that is granted two.
func checkLegacyFolders(where *field.Path, folders []v1alpha1.LegacyFolder) field.ErrorList {
	var errs field.ErrorList
	for i := range folders {
		for j := range folders[:i] {
			is, was := folders[i], folders[j]
			switch {
			case v1alpha1.SameLegacyFolder(is.Folder, was.Folder):
				errs = append(errs, field.Duplicate(where.Index(i).Child("folder"), is.Folder))
			case is.MemberCluster == was.MemberCluster && is.Namespace == was.Namespace && is.Group == was.Group:
				errs = append(errs, field.Duplicate(where.Index(i).Child("group"), is.Group))
			}
		}
	}
	return errs
}

// checkPlace warns when VMs would be left behind, or when two VCenters are the same place.
func (v vcenterValidator) checkPlace(ctx context.Context, vc, old *v1alpha1.VCenter, warn *warnings) {
	if old != nil && old.Status.VMs > 0 && placeOf(old) != placeOf(vc) {
		warn.add(fmt.Sprintf("%d VMs are in the place that this VCenter names now; they do not move, and their groups will wait for them", old.Status.VMs))
	}
	var others v1alpha1.VCenterList
	if v.reader.List(ctx, &others) != nil {
		return
	}
	for i := range others.Items {
		other := &others.Items[i]
		if other.Name != vc.Name && vc.Spec.Server != "" && placeOf(other) == placeOf(vc) {
			warn.add(fmt.Sprintf("VCenter %q has the same server, datacenter and folder; two that share a folder report each other's VMs as orphans", other.Name))
		}
	}
}

// place is where a VCenter keeps its VMs.
type place struct{ host, datacenter, folder string }

func placeOf(vc *v1alpha1.VCenter) place {
	p := place{datacenter: vc.Spec.Datacenter, folder: cmp.Or(strings.Trim(vc.Spec.Folder, "/"), "vm-operator")}
	if u, err := parseServer(vc.Spec.Server); err == nil {
		p.host = strings.ToLower(u.Hostname()) + ":" + cmp.Or(u.Port(), "443")
	}
	return p
}
