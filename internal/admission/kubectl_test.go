//go:build unix

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/template"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubectl does the script's kubectl calls, against the cluster in KUBECONFIG, and refuses all others. The test binary is
// kubectl if it runs under that name: the machine needs no such program.
func kubectl(args []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	known, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	c := command{client: cluster, discovery: known}
	flags := flag.NewFlagSet("kubectl", flag.ContinueOnError)
	flags.StringVar(&c.group, "api-group", "", "")
	flags.StringVar(&c.output, "output", "", "")
	flags.StringVar(&c.namespace, "namespace", "", "")
	flags.StringVar(&c.patchType, "type", "", "")
	flags.StringVar(&c.patch, "patch", "", "")
	flags.BoolVar(&c.ignoreNotFound, "ignore-not-found", false, "")
	flags.BoolVar(&c.everywhere, "all-namespaces", false, "")
	var words []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return err
		}
		if args = flags.Args(); len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	return c.run(words)
}

type command struct {
	client    client.Client
	discovery discovery.DiscoveryInterface

	group, output, namespace, patchType, patch string
	ignoreNotFound, everywhere                 bool
}

func (c command) run(words []string) error {
	ctx := context.Background()
	switch verb := words[0]; {
	case verb == "api-resources" && len(words) == 1 && c.output == "name":
		return c.resources()
	case verb == "get" && len(words) == 3 && words[1] == "namespace":
		return c.client.Get(ctx, types.NamespacedName{Name: words[2]}, object(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", ""))
	case verb == "get" && len(words) == 2 && c.everywhere && strings.HasPrefix(c.output, "go-template="):
		return c.list(ctx, words[1])
	case verb == "delete" && len(words) == 3:
		kind, err := c.kind(words[1])
		if err != nil {
			return err
		}
		err = c.client.Delete(ctx, object(kind, c.namespace, words[2]))
		if c.ignoreNotFound && apierrors.IsNotFound(err) {
			return nil
		}
		return err
	case verb == "patch" && len(words) == 3 && c.patchType == "json":
		kind, err := c.kind(words[1])
		if err != nil {
			return err
		}
		return c.client.Patch(ctx, object(kind, c.namespace, words[2]), client.RawPatch(types.JSONPatchType, []byte(c.patch)))
	}
	return fmt.Errorf("kubectl %s is not something that the script may need", strings.Join(words, " "))
}

func object(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	result := &unstructured.Unstructured{}
	result.SetGroupVersionKind(kind)
	result.SetNamespace(namespace)
	result.SetName(name)
	return result
}

func (c command) resources() error {
	lists, err := c.discovery.ServerPreferredResources()
	if err != nil {
		return err
	}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || group.Group != c.group {
			continue
		}
		for _, resource := range list.APIResources {
			fmt.Println(strings.TrimSuffix(resource.Name+"."+group.Group, "."))
		}
	}
	return nil
}

func (c command) kind(resource string) (schema.GroupVersionKind, error) {
	name, group, _ := strings.Cut(resource, ".")
	return c.client.RESTMapper().KindFor(schema.GroupVersionResource{Group: group, Resource: name})
}

func (c command) list(ctx context.Context, resource string) error {
	kind, err := c.kind(resource)
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.client.List(ctx, list); err != nil {
		return err
	}
	text, err := json.Marshal(list.UnstructuredContent())
	if err != nil {
		return err
	}
	var content any
	if err := json.Unmarshal(text, &content); err != nil {
		return err
	}
	format, err := template.New("output").Parse(strings.TrimPrefix(c.output, "go-template="))
	if err != nil {
		return errors.Join(errors.New("--output"), err)
	}
	return format.Execute(os.Stdout, content)
}
