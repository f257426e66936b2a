// Package annotate sets the annotations by which a person intervenes, and prints the kubectl command that each stands for.
package annotate

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// fieldManager owns the annotations.
const fieldManager = "kubectl-vmgroup"

// Change sets an annotation of an object, or removes it.
type Change struct {
	// Object as it was read. The change applies to this object only: it fails if another one has the name since.
	Object client.Object
	// Resource is the singular name of the object's resource, as kubectl takes it.
	Resource string
	// Key of the annotation.
	Key string
	// Value of the annotation. Empty removes it.
	Value string
}

// Done reports whether the object was read with the annotation as it is wanted.
func (c Change) Done() bool {
	value, set := c.Object.GetAnnotations()[c.Key]
	return value == c.Value && set == (c.Value != "")
}

// Apply writes the change to a cluster. If dry is true, the API server checks it, and stores nothing.
func (c Change) Apply(ctx context.Context, in *cluster.Cluster, dry bool) error {
	var value *string
	if c.Value != "" {
		value = &c.Value
	}
	// The API server refuses a patch with another UID than the object's.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": c.Object.GetUID(), "annotations": map[string]*string{c.Key: value}}})
	if err != nil {
		return err
	}
	options := []client.PatchOption{client.FieldOwner(fieldManager)}
	if dry {
		options = append(options, client.DryRunAll)
	}
	object := c.Object.DeepCopyObject().(client.Object)
	return cluster.Explain(in.Context, in.Config.Host, in.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), options...))
}

// Command returns the kubectl command that does the same in a context of the kubeconfig.
func (c Change) Command(context string) string {
	words := []string{"kubectl", "--context", context, "annotate", c.Resource, c.Object.GetName()}
	if namespace := c.Object.GetNamespace(); namespace != "" {
		words = append(words, "-n", namespace)
	}
	if c.Value == "" {
		words = append(words, c.Key+"-")
	} else {
		words = append(words, "--overwrite", fmt.Sprintf("%s=%s", c.Key, c.Value))
	}
	for i, word := range words {
		words[i] = quote(word)
	}
	return strings.Join(words, " ")
}

// plain matches words that have no meaning for a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quote returns a word as a shell of POSIX reads it.
func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
