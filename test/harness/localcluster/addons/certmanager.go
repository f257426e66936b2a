//go:build unix

// Package addons installs components into a hub that production clusters have besides Kubernetes.
package addons

import (
	"context"
	_ "embed" // certmanager.yaml contains the objects
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/certmanager"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// certManagerNamespace is the usual one.
const certManagerNamespace = "cert-manager"

// certManagerImage is the image in certmanager.yaml.
const certManagerImage = "docker.io/local/cert-manager:1"

// readyPatience is the timeout for a working Pod of cert-manager.
const readyPatience = 5 * time.Minute

//go:embed certmanager.yaml
var certManagerObjects string

// InstallCertManager installs cert-manager's CRDs, controllers and cainjector into a hub, as Pods. It returns when they work. It does not
// install cert-manager's admission webhook, which would refuse certificates with a validity below one hour. If the program must be built
// first, that takes minutes, and progress receives the output. If progress is nil, standard error does.
func InstallCertManager(ctx context.Context, hub *localcluster.Hub, progress io.Writer) error {
	if err := loadCertManager(ctx, hub, progress); err != nil {
		return fmt.Errorf("install cert-manager: %w", err)
	}
	if err := certmanager.InstallCRDs(ctx, hub.Config); err != nil {
		return fmt.Errorf("install cert-manager: %w", err)
	}
	objects := strings.ReplaceAll(certManagerObjects, "SERVICE_ADDRESS", hub.ServiceAddress())
	if err := apply(ctx, hub, objects); err != nil {
		return fmt.Errorf("install cert-manager: %w", err)
	}
	if err := waitForCertManager(ctx, hub); err != nil {
		return fmt.Errorf("install cert-manager: %w", err)
	}
	return nil
}

// loadCertManager makes the image from the program that tools/cert-manager pins. It keeps the image beside the programs, because the
// compression takes most of the time.
func loadCertManager(ctx context.Context, hub *localcluster.Hub, progress io.Writer) error {
	program, err := assets.Tool(ctx, "cert-manager", progress)
	if err != nil {
		return err
	}
	cache, err := assets.CacheDir()
	if err != nil {
		return err
	}
	// The name of the program's directory identifies all its inputs.
	archive := filepath.Join(cache, "images", filepath.Base(filepath.Dir(program))+".tar")
	if _, err := os.Stat(archive); err == nil {
		return hub.LoadImage(ctx, archive)
	}
	bundle, err := oci.New(certManagerImage, oci.Image{Programs: []oci.Program{{Source: program, Path: "/cert-manager"}}})
	if err != nil {
		return err
	}
	if err := bundle.WriteArchive(archive); err != nil {
		return err
	}
	return hub.LoadImage(ctx, archive)
}

// apply creates objects. Existing objects stay unchanged.
func apply(ctx context.Context, hub *localcluster.Hub, yaml string) error {
	cluster, err := client.New(hub.Config, client.Options{})
	if err != nil {
		return err
	}
	strict := client.WithFieldValidation(cluster, metav1.FieldValidationStrict)
	for objects := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(yaml), 4096); ; {
		var object unstructured.Unstructured
		if err := objects.Decode(&object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the objects: %w", err)
		}
		if err := strict.Create(ctx, &object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// waitForCertManager waits for the line of the log that reports that all controllers run.
func waitForCertManager(ctx context.Context, hub *localcluster.Hub) error {
	clients, err := kubernetes.NewForConfig(hub.Config)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, readyPatience, true, func(ctx context.Context) (bool, error) {
		last = working(ctx, clients)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("it was not ready within %s (%w): %w", readyPatience, err, last)
	}
	return nil
}

// working returns an error until a Pod of cert-manager has printed that line.
func working(ctx context.Context, clients kubernetes.Interface) error {
	pods, err := clients.CoreV1().Pods(certManagerNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	missing := errors.New("there is no Pod")
	for _, pod := range pods.Items {
		log, err := clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err == nil && strings.Contains("\n"+string(log), "\nready") {
			return nil
		}
		missing = errors.Join(err, fmt.Errorf("status of Pod %s: %+v; its log: %s", pod.Name, pod.Status, lastBytes(log, 2000)))
	}
	return missing
}

func lastBytes(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
