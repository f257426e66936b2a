// Package change writes the changes by which a person intervenes, and prints the kubectl command that each stands for.
package change

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// FieldManager owns the fields that the plugin writes.
const FieldManager = "kubectl-vmgroup"

// Change is a change of one object. It applies to the object that was read only: it fails if another one has the name since.
type Change interface {
	// Target returns the object as it was read, and the singular name of its resource, as kubectl takes it.
	Target() (object client.Object, resource string)
	// Done reports whether the object was read as the change wants it.
	Done() bool
	// Apply writes the change to a cluster. If dry is true, the API server checks it, and stores nothing.
	Apply(ctx context.Context, in *cluster.Cluster, dry bool) error
	// Command returns the kubectl command that does the same. connection are the flags that choose the cluster and the user.
	Command(connection []string) string
}

// apply sends a merge patch that the API server refuses for an object with another UID.
func apply(ctx context.Context, in *cluster.Cluster, object client.Object, patch map[string]any, dry bool) error {
	metadata, ok := patch["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		patch["metadata"] = metadata
	}
	metadata["uid"] = object.GetUID()
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	options := []client.PatchOption{client.FieldOwner(FieldManager)}
	if dry {
		options = append(options, client.DryRunAll)
	}
	answer := object.DeepCopyObject().(client.Object)
	return cluster.Explain(in.Context, in.Config.Host, in.Patch(ctx, answer, client.RawPatch(types.MergePatchType, data), options...))
}

// command returns a kubectl command for an object. more are the words after the object.
func command(connection []string, verb, resource string, object client.Object, more ...string) string {
	words := append([]string{"kubectl"}, connection...)
	words = append(words, verb, resource, object.GetName())
	if namespace := object.GetNamespace(); namespace != "" {
		words = append(words, "-n", namespace)
	}
	words = append(words, more...)
	for i, word := range words {
		words[i] = Quote(word)
	}
	return strings.Join(words, " ")
}

// plain matches words that have no meaning for a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Quote returns a word as a shell of POSIX reads it.
func Quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
