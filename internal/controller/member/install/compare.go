package install

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// Comparison of a member's admission objects with a bundle.
type Comparison struct {
	// Wrong names the first object that is missing or differs, "" if there is none.
	Wrong string
	// Acknowledged is the bundle's CA hash if the webhook configurations are right, "" if there is none at all, and nil
	// otherwise.
	Acknowledged *string
}

// Compare only reads. An error is one of reaching the member, or its refusal of a read.
func Compare(ctx context.Context, api *remote.API, bundle Bundle) (Comparison, error) {
	var result Comparison
	right, webhooks := 0, 0
	for _, wanted := range bundle.Objects {
		name := nameOf(wanted)
		installed, err := getObject(ctx, api, name)
		if err != nil {
			return Comparison{}, err
		}
		matches := installed != nil && covers(installed.Object, wanted.Object)
		if !matches && result.Wrong == "" {
			result.Wrong = name.String()
		}
		if name.isWebhook() {
			webhooks++
			if matches {
				right++
			}
		}
	}
	if webhooks > 0 {
		if right == webhooks {
			result.Acknowledged = &bundle.CABundleHash
		}
		return result, nil
	}
	for _, known := range bundle.Known {
		if !known.isWebhook() {
			continue
		}
		if current, err := getMetadata(ctx, api, known); err != nil {
			return Comparison{}, err
		} else if current != nil {
			if result.Wrong == "" {
				result.Wrong = known.String()
			}
			return result, nil
		}
	}
	result.Acknowledged = &bundle.CABundleHash
	return result, nil
}

// getObject returns nil if there is no such object or the member does not serve its kind.
func getObject(ctx context.Context, api *remote.API, object Object) (*unstructured.Unstructured, error) {
	ctx, cancel := api.Bounded(ctx)
	defer cancel()
	result := &unstructured.Unstructured{}
	result.SetGroupVersionKind(object.GroupVersionKind)
	if err := api.Client.Get(ctx, types.NamespacedName{Name: object.Name}, result); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return result, nil
}

// covers reports whether installed contains all of wanted. An API server adds defaults and omits empty fields.
func covers(installed, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		installed, _ := installed.(map[string]any)
		for key, value := range wanted {
			if !covers(installed[key], value) {
				return false
			}
		}
		return true
	case []any:
		installed, _ := installed.([]any)
		if len(installed) != len(wanted) {
			return false
		}
		for i := range wanted {
			if !covers(installed[i], wanted[i]) {
				return false
			}
		}
		return true
	case nil:
		return true
	}
	return equality.Semantic.DeepEqual(installed, wanted)
}
