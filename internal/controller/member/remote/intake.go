package remote

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// The kinds whose objects are cached. Their names become names of folders, keys, and parts of messages.
const groupKind, namespaceKind = "VmGroup", "Namespace"

const (
	checkServer = "No API server of Kubernetes stores such an object: check what answers at that address."
	labelRule   = "63 lowercase letters, digits and '-'"
)

// Named refuses an object whose name, namespace, UID or resource version Kubernetes does not allow. The error is a
// [*LimitError]. Such an object ends the connection to its API server: without the object it would look as if it had been
// deleted.
func Named(kind string, object any) error {
	o, is := object.(metav1.Object)
	if !is {
		return nil
	}
	name, namespace, uid := o.GetName(), o.GetNamespace(), string(o.GetUID())
	wrong := func(what, text, limit string) error {
		of := kind + " " + shown(name)
		if what == "name" {
			of = "a " + kind
		}
		return &LimitError{What: fmt.Sprintf("%s has the %s %s", of, what, shown(text)), Limit: limit, Remedy: checkServer}
	}
	switch {
	case kind == groupKind && len(validation.IsDNS1123Subdomain(name)) > 0:
		return wrong("name", name, "253 lowercase letters, digits, '-' and '.'")
	case kind == namespaceKind && len(validation.IsDNS1123Label(name)) > 0:
		return wrong("name", name, labelRule)
	case len(name) > validation.DNS1123SubdomainMaxLength || len(content.IsPathSegmentName(name)) > 0:
		return wrong("name", name, "253 bytes without '/' and '%'")
	case kind == groupKind && namespace == "", kind == namespaceKind && namespace != "", namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0:
		return wrong("namespace", namespace, labelRule)
	case uid == "" && kind != groupKind && kind != namespaceKind: // answers to review requests have none
	case !IsPlainUID(uid):
		return wrong("UID", uid, "64 letters, digits, '-', '_' and '.'")
	}
	return Versioned(kind, o)
}

// mostShown is the number of bytes of a refused name that are shown.
const mostShown = 100

func shown(name string) string { return untrusted.Quoted(untrusted.Text(name, mostShown)) }

// Versioned refuses an object whose resource version is longer than API servers allow. The error is a [*LimitError].
func Versioned(kind string, o metav1.Object) error {
	if is := o.GetResourceVersion(); len(is) > untrusted.MaxResourceVersion {
		return longer(fmt.Sprintf("the resource version of %s %s", kind, shown(o.GetName())), is, untrusted.MaxResourceVersion)
	}
	return nil
}

// Listed refuses a page of a list whose own resource version or continue token is too long: an informer stores the one, and
// sends the other. The error is a [*LimitError].
func Listed(kind string, list runtime.Object) error {
	m, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	for _, text := range []struct {
		what, is string
		most     int
	}{
		{"resource version", m.GetResourceVersion(), untrusted.MaxResourceVersion}, {"continue token", m.GetContinue(), untrusted.MaxContinue},
	} {
		if len(text.is) > text.most {
			return longer(fmt.Sprintf("the %s of the list of %ss", text.what, kind), text.is, text.most)
		}
	}
	return nil
}

func longer(what, is string, most int) error {
	return &LimitError{What: fmt.Sprintf("%s has %d bytes", what, len(is)), Limit: fmt.Sprintf("%d", most), Remedy: checkServer}
}

// KindOf is the name of the kind of an object, or of the objects of a list, in messages.
func KindOf(object runtime.Object) string {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = reflect.TypeOf(object).Elem().Name()
	}
	return strings.TrimSuffix(kind, "List")
}
