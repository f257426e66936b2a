//go:build unix

package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/certmanager"
)

// Names of objects in config/certmanager.
const (
	// CACertificate is the name of the certificate authority's Certificate and Secret.
	CACertificate = "vmgroup-operator-ca"
	// WebhookCertificate is the name of the webhooks' Certificate.
	WebhookCertificate = "vmgroup-operator-webhook"

	webhookSecret = "vmgroup-operator-webhook-tls"
)

// Admission contains the prerequisites of a hub's webhooks: cert-manager, a mounted certificate and an address for the members.
type Admission struct {
	// URL by which members call the webhooks of all managers.
	URL string
	// CertManager runs on the hub.
	CertManager *certmanager.Instance

	// balancer is in front of the members' port, and hub is in front of the port for the hub's own kinds.
	balancer, hub *balancer
	volume        *secretVolume
	// ports by the name of the manager. A restarted manager listens on the same ports.
	ports map[string]doors
}

// doors are the two ports of the webhooks.
type doors struct{ members, hub port }

func reserveDoors() (d doors, err error) {
	if d.members, err = reservePort(); err != nil {
		return d, err
	}
	if d.hub, err = reservePort(); err != nil {
		d.members.free()
	}
	return d, err
}

// StartAdmission runs cert-manager on the hub and mounts the webhooks' certificate. Managers that start later serve the webhooks. Running
// managers must be replaced.
func (s *Stack) StartAdmission(ctx context.Context) (err error) {
	a := &Admission{ports: map[string]doors{}}
	s.Admission = a
	if a.balancer, err = newBalancer(); err != nil {
		return err
	}
	if a.hub, err = newBalancer(); err != nil {
		return err
	}
	a.URL = a.balancer.URL
	if a.CertManager, err = certmanager.Start(ctx, s.Hub.KubeconfigFile, s.Dir, s.opts.Out); err != nil {
		return fmt.Errorf("start cert-manager: %w", err)
	}
	if err := s.applyConfig(ctx, "certmanager", func(o *unstructured.Unstructured) error {
		if o.GetName() != WebhookCertificate || o.GetKind() != "Certificate" {
			return nil
		}
		// API servers call the balancer's address and not a Service.
		return unstructured.SetNestedStringSlice(o.Object, []string{"127.0.0.1"}, "spec", "ipAddresses")
	}); err != nil {
		return err
	}
	a.volume, err = mountSecret(ctx, s.Hub.Client, client.ObjectKey{Namespace: Namespace, Name: webhookSecret},
		filepath.Join(s.Dir, "webhook-certs"))
	if err != nil {
		return err
	}
	return s.applyConfig(ctx, "webhook", a.callByURL)
}

// callByURL makes the hub's own webhook configuration call the balancer, because no kube-proxy implements Services here.
func (a *Admission) callByURL(o *unstructured.Unstructured) error {
	if o.GetKind() != "ValidatingWebhookConfiguration" {
		return nil
	}
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &configuration); err != nil {
		return err
	}
	for i := range configuration.Webhooks {
		call := &configuration.Webhooks[i].ClientConfig
		if call.Service == nil || call.Service.Path == nil {
			return fmt.Errorf("webhook %s names no Service with a path", configuration.Webhooks[i].Name)
		}
		url := a.hub.URL + *call.Service.Path
		call.URL, call.Service = &url, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&configuration)
	o.Object = content
	o.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"))
	return err
}

// applyConfig applies the objects of a directory of config/ to the hub, as kustomize would with the operator's namespace.
func (s *Stack) applyConfig(ctx context.Context, dir string, change func(*unstructured.Unstructured) error) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "config", dir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "kustomization.yaml" }) {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if o.GetKind() == "" || o.GetKind() == "Service" {
				continue
			}
			if namespaced, err := s.Hub.IsObjectNamespaced(o); err == nil && namespaced {
				o.SetNamespace(Namespace)
			}
			if err := change(o); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if err := s.Hub.Create(ctx, o); client.IgnoreAlreadyExists(err) != nil {
				return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
			}
		}
	}
	return nil
}

// webhookArgs returns the flags of a manager. From then on, the balancer routes to its webhooks while ready returns true.
func (a *Admission) webhookArgs(name string, ready func(context.Context) bool) ([]string, error) {
	if a == nil {
		return nil, nil
	}
	p, ok := a.ports[name]
	if !ok {
		var err error
		if p, err = reserveDoors(); err != nil {
			return nil, err
		}
		a.ports[name] = p
	}
	host, number, _ := strings.Cut(p.members.address, ":")
	_, hub, _ := strings.Cut(p.hub.address, ":")
	a.balancer.add(p.members.address, ready)
	a.hub.add(p.hub.address, ready)
	return []string{
		"--webhook-host=" + host, "--webhook-port=" + number, "--hub-webhook-port=" + hub,
		"--webhook-cert-path=" + a.volume.Dir, "--admission-url=" + a.URL,
	}, nil
}

// Shut blocks the calls of members' API servers to all managers until open is called. The managers continue, and can still call the
// members.
func (a *Admission) Shut() (open func()) {
	a.balancer.shut(true)
	return func() { a.balancer.shut(false) }
}

func (a *Admission) stop() error {
	if a == nil {
		return nil
	}
	var errs []error
	if a.volume != nil {
		a.volume.unmount()
	}
	if a.CertManager != nil {
		errs = append(errs, a.CertManager.Stop())
	}
	for _, b := range []*balancer{a.balancer, a.hub} {
		if b != nil {
			b.close()
		}
	}
	for _, p := range a.ports {
		p.members.free()
		p.hub.free()
	}
	return errors.Join(errs...)
}

// WebhookAddress returns the address of a replica's port for the members' webhook calls, behind the balancer.
func (r *Replica) WebhookAddress() string { return r.stack.Admission.ports[r.Name].members.address }
