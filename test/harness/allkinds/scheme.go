// Package allkinds contains the scheme of the clients in tests.
package allkinds

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Scheme returns the scheme with the kinds of Kubernetes, CustomResourceDefinition, and this operator's kinds. All callers share it and
// must not change it, because creating one takes longer than many tests. It panics if kinds conflict, which is a bug in the program.
func Scheme() *runtime.Scheme { return scheme() }

var scheme = sync.OnceValue(func() *runtime.Scheme {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		utilruntime.Must(add(all))
	}
	return all
})
