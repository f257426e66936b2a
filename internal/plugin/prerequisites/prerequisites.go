// Package prerequisites checks whether the operator can be installed on a cluster. It writes nothing.
package prerequisites

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"

	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/enroll"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/job"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Finding is the result of one check. It is [term.OK], [term.Bad] if an installation would fail, [term.Warn] if it needs settings, or [term.Note].
type Finding struct {
	Mark term.Mark
	// Text is the result, and Detail what it means or what to do.
	Text, Detail string
}

// Check checks the cluster for an installation in a namespace. The error is that of a cluster that does not answer.
func Check(ctx context.Context, hub *cluster.Cluster, namespace string) ([]Finding, error) {
	c := &checker{hub: hub, namespace: namespace}
	for _, check := range []func(context.Context) error{c.version, c.definitions, c.installed, c.certManager, c.prometheus, c.rights} {
		if err := check(ctx); err != nil {
			return nil, cluster.Explain(hub.Context, hub.Config.Host, err)
		}
	}
	return c.found, nil
}

type checker struct {
	hub       *cluster.Cluster
	namespace string
	found     []Finding
}

func (c *checker) add(mark term.Mark, text, detail string) {
	c.found = append(c.found, Finding{mark, text, detail})
}

func (c *checker) version(context.Context) error {
	server, err := discovery.NewDiscoveryClientForConfig(c.hub.Config)
	if err != nil {
		return err
	}
	info, err := server.ServerVersion()
	if err != nil {
		return err
	}
	mark, needed := term.OK, ""
	if v, err := utilversion.ParseGeneric(info.GitVersion); err != nil || v.LessThan(enroll.OldestKubernetes) {
		mark, needed = term.Bad, fmt.Sprintf("the operator needs %s or newer", enroll.OldestKubernetes)
	}
	c.add(mark, "Kubernetes "+untrusted.Text(info.GitVersion, 64), needed)
	return nil
}

// definitions checks that no CRD of another product has the name of one of the operator's.
func (c *checker) definitions(ctx context.Context) error {
	foreign := false
	for _, wanted := range crd.Hub() {
		installed, err := crds.Get(ctx, c.hub, wanted.Name)
		switch {
		case err == nil && installed == nil:
		case apierrors.IsForbidden(err):
			c.add(term.Bad, "you may not read CustomResourceDefinitions", "an administrator of the cluster can")
			return nil
		case err != nil:
			return err
		case !installed.DeletionTimestamp.IsZero():
			foreign = true
			c.add(term.Bad, "CustomResourceDefinition "+installed.Name+" is being deleted", "see docs/runbooks/crd-deleted.md")
		case crds.StandingOf(installed, wanted) == crds.Foreign:
			foreign = true
			c.add(term.Bad, "CustomResourceDefinition "+installed.Name+" is not the operator's", fmt.Sprintf("it is of kind %s and scope %s; remove it if it is not needed",
				untrusted.Quoted(installed.Spec.Names.Kind), untrusted.Quoted(string(installed.Spec.Scope))))
		}
	}
	if !foreign {
		c.add(term.OK, "no CustomResourceDefinition of another product is in the way", "")
	}
	return nil
}

// installed reports whether the operator is here already.
func (c *checker) installed(ctx context.Context) error {
	err := c.hub.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: job.Deployment}, &appsv1.Deployment{})
	switch {
	case err == nil:
		c.add(term.Note, "the operator is installed in namespace "+c.namespace, "to check whether it is healthy: kubectl vmgroup check")
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // the rights are checked below
	default:
		return err
	}
	return nil
}

// serves adds the first finding if the cluster serves a kind, else the second one.
func (c *checker) serves(kind schema.GroupVersionKind, yes, no Finding) error {
	_, err := c.hub.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case err == nil:
		c.found = append(c.found, yes)
	case meta.IsNoMatchError(err):
		c.found = append(c.found, no)
	default:
		return err
	}
	return nil
}

func (c *checker) certManager(context.Context) error {
	return c.serves(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
		Finding{term.OK, "cert-manager is installed", ""},
		Finding{term.Warn, "cert-manager is not installed", "install it, or set webhook.existingSecret to a certificate of your own, or webhook.enabled=false"})
}

func (c *checker) prometheus(context.Context) error {
	return c.serves(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
		Finding{term.OK, "the Prometheus Operator is installed", ""},
		Finding{term.Note, "the Prometheus Operator is not installed", "leave metrics.serviceMonitor and metrics.prometheusRule disabled"})
}
