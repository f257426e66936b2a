package webhook

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// defaulter sets fields that a group leaves out. It is not a typed Defaulter: that one compares whole objects, and would also add fields that this version of
// the type writes and the sender left out.
type defaulter struct {
	knowledge Knowledge
	// offers can be nil.
	offers  Offers
	decoder admission.Decoder
}

// Handle returns a patch of the fields for which policies have defaults. The patch is empty if no field is missing.
func (d defaulter) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Resource != groupResource || req.SubResource != "" ||
		(req.Operation != admissionv1.Create && req.Operation != admissionv1.Update) {
		return admission.Allowed("")
	}
	var group v1alpha1.VmGroup
	if err := d.decoder.Decode(req, &group); err != nil {
		// Mutation comes before schema validation, which reports errors of the object better.
		return admission.Allowed("")
	}
	if d.offers != nil && asks(req, inquiry.NamespaceManager) {
		return d.inquired(ctx, req, &group)
	}
	if group.DeletionTimestamp != nil || complete(&group.Spec, req.Operation) {
		return admission.Allowed("")
	}
	filled, err := d.fill(ctx, req, &group)
	if err != nil {
		return noAnswer(ctx, err)
	}
	if len(filled) == 0 {
		return admission.Allowed("")
	}
	values := map[string]any{
		"spec.cpu": group.Spec.CPU, "spec.memory": group.Spec.Memory,
		"spec.template": group.Spec.Template, "spec.vcenter": group.Spec.VCenter,
	}
	patch := make([]jsonpatch.Operation, 0, len(filled))
	written := writtenIn(req.Object.Raw)
	for _, name := range filled {
		value, is := values[name]
		switch {
		case !is: // a patch cannot add a field to an object that does not exist
			name, value = "spec.disks.root", group.Spec.Disks.Root
			if !written["spec.disks"] {
				name, value = "spec.disks", group.Spec.Disks
			}
		case written[name]:
			continue
		}
		patch = append(patch, jsonpatch.NewOperation("add", "/"+strings.ReplaceAll(name, ".", "/"), value))
	}
	return admission.Patched("", patch...)
}

// noAnswer is the response to a request that the operator cannot answer at present.
func noAnswer(ctx context.Context, err error) admission.Response {
	_ = callOf(ctx).unavailable(err)
	return admission.Errored(http.StatusInternalServerError, err)
}

// inquired answers what the namespace of a request can use. The API server calls this webhook before it checks the group, which does not have to be valid.
func (d defaulter) inquired(ctx context.Context, req admission.Request, asked *v1alpha1.VmGroup) admission.Response {
	requester, err := d.knowledge.Requester(ctx, callOf(ctx).member, req.Namespace)
	if err != nil {
		return noAnswer(ctx, err)
	}
	answer, err := d.offers.Of(ctx, requester, asked.Spec.VCenter, asked.Spec.Template)
	if err != nil {
		return noAnswer(ctx, err)
	}
	return admission.Allowed("").WithWarnings(answer.Warning())
}

// writtenIn returns the required fields that an object has, including zero and empty ones: those are not left out, and the schema refuses them. It also
// returns spec.disks. An empty
// vcenter stands for the default one. Other fields are not decoded: an object with thousands of invented fields must cost nothing.
func writtenIn(object []byte) map[string]bool {
	var group struct {
		Spec struct {
			CPU      json.RawMessage `json:"cpu"`
			Memory   json.RawMessage `json:"memory"`
			Template json.RawMessage `json:"template"`
			Disks    json.RawMessage `json:"disks"`
		} `json:"spec"`
	}
	// Like an API server, utiljson distinguishes the field CPU from cpu.
	if utiljson.Unmarshal(object, &group) != nil {
		return nil
	}
	is := func(value json.RawMessage) bool { return value != nil && string(value) != "null" }
	return map[string]bool{"spec.cpu": is(group.Spec.CPU), "spec.memory": is(group.Spec.Memory), "spec.template": is(group.Spec.Template), "spec.disks": is(group.Spec.Disks)}
}

// complete reports whether policies have no field to set, so that no lookup is needed.
func complete(spec *v1alpha1.VmGroupSpec, operation admissionv1.Operation) bool {
	return spec.CPU != 0 && spec.Memory != 0 && spec.Template != "" && spec.VCenter != "" && (operation != admissionv1.Create || !policy.SizesRootDisk(spec))
}

func (d defaulter) fill(ctx context.Context, req admission.Request, group *v1alpha1.VmGroup) ([]string, error) {
	policies, ok := d.knowledge.Policies(ctx)
	if !ok {
		return nil, errNoPolicies
	}
	requester, err := d.knowledge.Requester(ctx, callOf(ctx).member, req.Namespace)
	if err != nil {
		return nil, err
	}
	if req.Operation == admissionv1.Create {
		return policies.Default(requester, &group.Spec), nil
	}
	var old v1alpha1.VmGroup
	// An object that was stored in another shape decodes as empty. In that case it had no VCenter to restore.
	_ = d.decoder.DecodeRaw(req.OldObject, &old)
	return policies.DefaultUpdate(requester, old.Spec, &group.Spec), nil
}
