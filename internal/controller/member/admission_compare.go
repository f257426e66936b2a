package member

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// comparison of a member's admission objects with a bundle.
type comparison struct {
	// wrong names the first object that is missing or says something else, "" if there is none.
	wrong string
	// acknowledged is the bundle's CA hash if the webhook configurations are right, "" if there is none at all, and nil
	// otherwise.
	acknowledged *string
}

// compareBundle only reads. An error is of reaching the member, or its refusal to be looked at.
func compareBundle(ctx context.Context, api *memberAPI, bundle AdmissionBundle) (comparison, error) {
	var result comparison
	right, webhooks := 0, 0
	for _, wanted := range bundle.Objects {
		name := nameOf(wanted)
		installed, err := getObject(ctx, api, name)
		if err != nil {
			return comparison{}, err
		}
		matches := installed != nil && covers(installed.Object, wanted.Object)
		if !matches && result.wrong == "" {
			result.wrong = name.String()
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
			result.acknowledged = &bundle.CABundleHash
		}
		return result, nil
	}
	for _, known := range bundle.Known {
		if !known.isWebhook() {
			continue
		}
		if current, err := getMetadata(ctx, api, known); err != nil {
			return comparison{}, err
		} else if current != nil {
			if result.wrong == "" {
				result.wrong = known.String()
			}
			return result, nil
		}
	}
	result.acknowledged = &bundle.CABundleHash
	return result, nil
}

// getObject returns nil when there is no such object or the member does not serve its kind.
func getObject(ctx context.Context, api *memberAPI, object AdmissionObject) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, api.timings.Request)
	defer cancel()
	result := &unstructured.Unstructured{}
	result.SetGroupVersionKind(object.GroupVersionKind)
	if err := api.client.Get(ctx, types.NamespacedName{Name: object.Name}, result); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return result, nil
}

// covers reports whether installed says all that wanted says. An API server adds defaults and leaves out what is empty.
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
