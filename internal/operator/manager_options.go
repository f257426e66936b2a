package operator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// readableSecrets excludes Secrets that are not meant for the operator: the tokens of ServiceAccounts, and Helm's releases, which contain all values.
func readableSecrets() fields.Selector {
	return fields.AndSelectors(
		fields.OneTermNotEqualSelector("type", string(corev1.SecretTypeServiceAccountToken)), fields.OneTermNotEqualSelector("type", "helm.sh/release.v1"))
}

func managerOptions(o Options, scheme *runtime.Scheme) manager.Options {
	return manager.Options{
		Scheme:                  scheme,
		Metrics:                 server.Options{BindAddress: "0"}, // see openMetrics
		HealthProbeBindAddress:  "0",                              // see probes
		GracefulShutdownTimeout: new(managerGrace),
		// Every replica runs everything: the shard map decides which groups it acts on, and whether it does the work that exactly one replica must do. The
		// manager's own election would end the process whenever the hub is unreachable for ten seconds.
		LeaderElection: false,
		// See controllerOptions of the VmGroup controller: the priority queue can hang at shutdown.
		Controller: controllerconfig.Controller{UsePriorityQueue: new(bool)},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				// The operator does not use Secrets of other namespaces, and has no permission to read them.
				&corev1.Secret{}: {Namespaces: map[string]cache.Config{o.Namespace: {FieldSelector: readableSecrets()}}},
			},
		},
	}
}
