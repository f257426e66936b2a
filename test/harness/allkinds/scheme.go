// Package allkinds has the scheme of the clients that tests make.
package allkinds

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Scheme returns the scheme with the kinds of Kubernetes, that of CRDs, and this operator's. It is one for all and must not be changed:
// to make it takes longer than many a test. It panics where kinds contradict each other, which is a bug of the program.
func Scheme() *runtime.Scheme { return scheme() }

var scheme = sync.OnceValue(func() *runtime.Scheme {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		utilruntime.Must(add(all))
	}
	return all
})
