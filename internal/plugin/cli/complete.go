package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// named is a kind of object whose names a shell completes. Objects of the hub are read there, others in the current context.
type named struct {
	kind       schema.GroupVersionKind
	ofHub      bool
	namespaced bool
}

var (
	groups     = named{kind: v1alpha1.GroupVersion.WithKind("VmGroup"), namespaced: true}
	members    = named{kind: v1alpha1.GroupVersion.WithKind("MemberCluster"), ofHub: true}
	vcenters   = named{kind: v1alpha1.GroupVersion.WithKind("VCenter"), ofHub: true}
	namespaces = named{kind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}}
)

// complete lets a shell complete names in all commands.
func (o *Options) complete(c *cobra.Command) {
	for flag, of := range map[string]named{"namespace": namespaces, "member": members, "vcenter": vcenters} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
				return o.names(c, of)
			})
		}
	}
	if _, arguments, ok := strings.Cut(c.Use, " "); ok && c.ValidArgsFunction == nil && strings.Contains(arguments, "NAME") {
		many := strings.Contains(arguments, "...")
		c.ValidArgsFunction = func(c *cobra.Command, typed []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(typed) > 0 && !many {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return o.names(c, objectsOf(c))
		}
	}
	for _, below := range c.Commands() {
		o.complete(below)
	}
}

// objectsOf returns what the arguments of a command name.
func objectsOf(c *cobra.Command) named {
	for _, word := range []string{c.Name(), c.Parent().Name()} {
		switch word {
		case "member":
			return members
		case "vcenter":
			return vcenters
		case "namespace":
			return namespaces
		}
	}
	return groups
}

// names lists the names of objects. If they cannot be read, the shell completes nothing.
func (o *Options) names(c *cobra.Command, of named) ([]string, cobra.ShellCompDirective) {
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, contextTime)
	defer cancel()
	c.SetContext(ctx)
	contexts, err := cluster.Load(ctx, o.flags)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var in *cluster.Cluster
	if of.ofHub {
		in, err = o.hub(c, contexts)
	} else {
		in, err = contexts.Open(contexts.Current())
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(of.kind)
	var where []client.ListOption
	if of.namespaced {
		namespace, _ := c.Flags().GetString("namespace")
		if namespace == "" {
			namespace = contexts.Namespace(in.Context)
		}
		where = append(where, client.InNamespace(namespace))
	}
	_ = in.List(ctx, list, where...)
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, untrusted.Text(list.Items[i].Name, 253))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeContexts completes the names of contexts.
func (o *Options) completeContexts(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	contexts, err := cluster.Load(c.Context(), o.flags)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return contexts.Names(), cobra.ShellCompDirectiveNoFileComp
}
