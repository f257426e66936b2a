package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// defaulter fills in what a group leaves out. It is not a typed Defaulter: that one compares whole objects, and would also
// add whatever our version of the type writes and the sender left out.
type defaulter struct {
	knowledge Knowledge
	decoder   admission.Decoder
}

// Handle returns a patch of the fields that policies fill in. The patch is empty when nothing is missing.
func (d defaulter) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Resource != groupResource || req.SubResource != "" ||
		(req.Operation != admissionv1.Create && req.Operation != admissionv1.Update) {
		return admission.Allowed("")
	}
	var group v1alpha1.VmGroup
	if err := d.decoder.Decode(req, &group); err != nil {
		// Mutation comes before the schema, which says better what is wrong with the object.
		return admission.Allowed("")
	}
	if group.DeletionTimestamp != nil || complete(group.Spec) {
		return admission.Allowed("")
	}
	filled, err := d.fill(ctx, req, &group)
	if err != nil {
		_ = callOf(ctx).unavailable(err)
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if len(filled) == 0 {
		return admission.Allowed("")
	}
	values := map[string]any{
		"spec.cpu": group.Spec.CPU, "spec.memory": group.Spec.Memory,
		"spec.template": group.Spec.Template, "spec.vcenter": group.Spec.VCenter,
	}
	patch := make([]jsonpatch.Operation, 0, len(filled))
	var warnings []string
	written := writtenIn(req.Object.Raw)
	for _, name := range filled {
		patch = append(patch, jsonpatch.NewOperation("add", "/"+strings.ReplaceAll(name, ".", "/"), values[name]))
		if zero, ok := written[name]; ok {
			warnings = append(warnings, fmt.Sprintf("%s is %s. This release takes it as left out and fills in %s, a later one refuses it: write what you want, or leave %s out.",
				name, zero, untrusted.Name(fmt.Sprint(values[name])), name))
		}
	}
	return admission.Patched("", patch...).WithWarnings(warnings...)
}

// writtenIn returns the fields that may be filled in and that an object has nevertheless: as zero, or as empty. A client with types of Go wrote that
// for what it left out, up to the last release; whoever writes it by hand gets VMs that are not what the object says. An empty vcenter is none of them:
// it stands for the default one in every release. Other fields are not decoded: whoever invents thousands of them must cost nothing.
func writtenIn(object []byte) map[string]json.RawMessage {
	var group struct {
		Spec struct {
			CPU      json.RawMessage `json:"cpu"`
			Memory   json.RawMessage `json:"memory"`
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	}
	// As an API server does, it takes a field CPU for another one than cpu.
	if utiljson.Unmarshal(object, &group) != nil {
		return nil
	}
	written := map[string]json.RawMessage{"spec.cpu": group.Spec.CPU, "spec.memory": group.Spec.Memory, "spec.template": group.Spec.Template}
	maps.DeleteFunc(written, func(_ string, value json.RawMessage) bool { return value == nil || string(value) == "null" })
	return written
}

// complete says whether there is nothing that policies could fill in, so that nobody has to be asked.
func complete(spec v1alpha1.VmGroupSpec) bool {
	return spec.CPU != 0 && spec.Memory != 0 && spec.Template != "" && spec.VCenter != ""
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
	// One that was stored in another shape reads as empty: then it had no VCenter that could be put back.
	_ = d.decoder.DecodeRaw(req.OldObject, &old)
	return policies.DefaultUpdate(requester, old.Spec, &group.Spec), nil
}
