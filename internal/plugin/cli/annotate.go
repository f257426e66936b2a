package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/change"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/term"
)

// Values of --dry-run, as those of kubectl.
const (
	dryNone   = "none"
	dryClient = "client"
	dryServer = "server"
)

// intervention has the flags of all commands that set an annotation.
type intervention struct {
	*Options
	dry  string
	undo bool
}

// step is a change and the sentence about its result.
type step struct {
	change.Change
	says string
	// note is what else the person must know, or empty.
	note string
}

// add adds the flags. undoable commands can take the annotation back.
func (i *intervention) add(c *cobra.Command, undoable bool) {
	c.Flags().StringVar(&i.dry, "dry-run", dryNone, "client: print the kubectl commands that this one stands for, and change nothing. server: let the API server check the change, and store nothing. none: change.")
	if undoable {
		c.Flags().BoolVar(&i.undo, "undo", false, "Remove the annotation.")
	}
}

func (i *intervention) check() error {
	if !slices.Contains([]string{dryNone, dryClient, dryServer}, i.dry) {
		return cluster.Usage("--dry-run must be none, client or server, and is %q.", i.dry)
	}
	return nil
}

// here opens the cluster of the current context, in which a team's objects are.
func (i *intervention) here(ctx context.Context) (*cluster.Cluster, *cluster.Contexts, error) {
	if err := i.check(); err != nil {
		return nil, nil, err
	}
	contexts, err := cluster.Load(ctx, i.flags)
	if err != nil {
		return nil, nil, err
	}
	contexts.Warn(i.ErrOut)
	in, err := openMember(ctx, contexts)
	return in, contexts, err
}

// openMember opens the cluster of the current context, and checks that it serves VmGroups.
func openMember(ctx context.Context, contexts *cluster.Contexts) (*cluster.Cluster, error) {
	name := contexts.Current()
	if name == "" {
		return nil, contexts.NoCurrent("--context", "member")
	}
	in, err := contexts.Open(name)
	if err != nil {
		return nil, err
	}
	switch is, err := in.Serves(ctx, "VmGroup"); {
	case err != nil:
		return nil, err
	case !is:
		return nil, cluster.Usage("The cluster of context %q does not serve VmGroups. Set --context to the context of a member.", name)
	}
	return in, nil
}

// onHub opens the hub.
func (i *intervention) onHub(c *cobra.Command) (*cluster.Cluster, error) {
	if err := i.check(); err != nil {
		return nil, err
	}
	return i.openHub(c)
}

// find reads a cluster-scoped object. kind is for the error.
func find[T client.Object](ctx context.Context, in *cluster.Cluster, kind, name string, object T) (T, error) {
	err := in.Get(ctx, types.NamespacedName{Name: name}, object)
	if apierrors.IsNotFound(err) {
		return object, cluster.Usage("The cluster of context %q has no %s %q.", in.Context, kind, name)
	}
	return object, cluster.Explain(in.Context, in.Config.Host, err)
}

// carryOut carries out all steps. A step that fails does not keep the others from being done.
func (i *intervention) carryOut(ctx context.Context, in *cluster.Cluster, all ...step) error {
	report := &steps{i.Out, i.style()}
	var failures []error
	for _, s := range all {
		if i.undo {
			s = withdrawn(s)
		}
		switch {
		case i.dry == dryClient:
			_, _ = fmt.Fprintln(i.Out, s.Command(i.connection(in.Context)))
			continue
		case s.Done():
			report.line(term.Note, s.says, "nothing to change")
		default:
			if err := s.Apply(ctx, in, i.dry == dryServer); err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", s.title(), err))
				continue
			}
			detail := ""
			if i.dry == dryServer {
				detail = "dry run: nothing is stored"
			}
			report.line(term.OK, s.says, detail)
		}
		if s.note != "" {
			report.line(term.Warn, s.note, "")
		}
	}
	return errors.Join(failures...)
}

// withdrawn returns the step that removes the annotation of a step.
func withdrawn(s step) step {
	of, ok := s.Change.(change.Annotation)
	if !ok {
		return s // no other change has --undo
	}
	of.Value = ""
	return step{Change: of, says: fmt.Sprintf("Annotation %s is removed from %s.", of.Key, s.title())}
}

// title names the object of a step.
func (s step) title() string { return titleOf(s.Target()) }

func titleOf(object client.Object, resource string) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s %q", kinds[resource], name)
}

// kinds of the resources that commands change.
var kinds = map[string]string{
	resourceGroup: "VmGroup", resourceMember: "MemberCluster", resourceVCenter: "VCenter", resourceNamespace: "Namespace", resourceCRD: "CustomResourceDefinition",
}

const (
	resourceGroup     = "vmgroup"
	resourceMember    = "membercluster"
	resourceVCenter   = "vcenter"
	resourceNamespace = "namespace"
	resourceCRD       = "crd"
)

// confirmed is the step that confirms the deletion of an object.
func confirmed(object client.Object, resource, about string) step {
	return step{
		Change: change.Annotation{Object: object, Resource: resource, Key: v1alpha1.ConfirmDeletionAnnotation, Value: string(object.GetUID())},
		says:   fmt.Sprintf("%s of %s is confirmed, for this object only (UID %s).", about, titleOf(object, resource), object.GetUID()),
	}
}
