// Command cert-manager runs the controllers and the cainjector of cert-manager in one process, against the cluster
// of a kubeconfig. It is for tests and the demo: issuers SelfSigned and CA only, no ACME, no leader election, no
// admission webhook, so that a certificate may be valid for less than an hour. The CRDs must be there before.
//
// It prints a line that begins with "ready" when all controllers have been started, and ends on SIGTERM. With
// --while-stdin it also ends when its standard input does, so that it does not outlive the test that holds the other end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	// Controllers and issuers register themselves. Without the approver every request waits for ever.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

// resources holds the Secrets of ClusterIssuers.
const resources = "cert-manager"

// workers of each controller.
const workers = 5

func main() {
	// Not the common flags: controller-runtime has put one of that name there.
	flags := flag.NewFlagSet("cert-manager", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "file with the kubeconfig of the cluster, required")
	whileStdin := flags.Bool("while-stdin", false, "end when the standard input ends")
	_ = flags.Parse(os.Args[1:]) // it ends the process itself
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *whileStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	if kubeconfig == "" {
		return errors.New("the flag --kubeconfig is required")
	}
	ctrl.SetLogger(klog.Background())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	controllers, informers, err := certificates(ctx, kubeconfig)
	if err != nil {
		return err
	}
	injector, err := injector(ctx, kubeconfig)
	if err != nil {
		return err
	}
	ended := make(chan error, len(controllers)+1)
	for _, each := range controllers {
		go func() { ended <- each.Run(workers, ctx) }()
	}
	go func() { ended <- injector.Start(ctx) }()
	informers(ctx)
	if injector.GetCache().WaitForCacheSync(ctx) {
		fmt.Printf("ready: %d controllers of certificates, and the cainjector\n", len(controllers))
	}
	// The first that ends, ends all of them.
	err = <-ended
	cancel()
	for range len(controllers) {
		err = errors.Join(err, <-ended)
	}
	return err
}

// certificates builds the controllers that registered themselves, which define the events that they need. The function
// that it returns starts their informers.
func certificates(ctx context.Context, kubeconfig string) ([]controller.Interface, func(context.Context), error) {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: kubeconfig, KubernetesAPIQPS: 200, KubernetesAPIBurst: 400,
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: resources},
		CertificateOptions: controller.CertificateOptions{
			// A request that failed once, in a test, is tried again at once.
			CertificateRequestMinimumBackoffDuration: time.Second,
			CertificateRequestMaximumBackoffDuration: time.Minute,
		},
	})
	if err != nil {
		return nil, nil, err
	}
	known := controller.Known()
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	all := make([]controller.Interface, 0, len(names))
	for _, name := range names {
		one, err := known[name](factory)
		if err != nil {
			return nil, nil, fmt.Errorf("set up %s: %w", name, err)
		}
		all = append(all, one)
	}
	// Every context of a factory has the same informers.
	shared, err := factory.Build()
	if err != nil {
		return nil, nil, err
	}
	return all, func(ctx context.Context) {
		shared.SharedInformerFactory.Start(ctx.Done())
		shared.KubeSharedInformerFactory.Start(ctx.Done())
		shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	}, nil
}

// injector builds the manager of the cainjector: it writes the CA bundles of webhook configurations and
// CRDs that are annotated with where the CA comes from.
func injector(ctx context.Context, kubeconfig string) (manager.Manager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = -1, -1
	config.UserAgent = "cert-manager-cainjector/" // up to the slash it is the field manager
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), certmanagerv1.AddToScheme(scheme))
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		// As upstream: a read that no informer serves is a mistake, and Secrets are cached as metadata only.
		Cache:  cache.Options{ReaderFailOnMissingInformer: true},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return nil, err
	}
	return mgr, cainjector.RegisterAllInjectors(ctx, mgr, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
			cainjector.CustomResourceDefinitionName:       true,
		},
	})
}
