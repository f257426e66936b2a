package webhook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// act is where a value of an enum makes a difference: file has the text, which names the value. A value that applies if the
// field is omitted has no text: the schema has it as the default, or states it in the description.
type act struct{ file, text, unset string }

// valueEffects of all values of all enums below spec that are not the schema's default, by kind, path and value.
var valueEffects = map[string]map[string]act{
	"VmGroup cloneMode":           {"Linked": {file: "internal/observe/resolve.go", text: "case v1alpha1.CloneLinked:"}, "LinkedPreferred": {file: "internal/observe/resolve.go", text: "case v1alpha1.CloneLinkedPreferred:"}},
	"VmGroup powerState":          {"PoweredOff": {file: "internal/plan/settings.go", text: "v1alpha1.PoweredOff"}},
	"VmGroup updateStrategy.type": {"OnDelete": {file: "internal/plan/budget.go", text: "v1alpha1.UpdateOnDelete"}},
	"VmGroup updateStrategy.resize": {
		"Hot": {file: "internal/plan/inplace.go", text: "v1alpha1.ResizeHot"}, "Recreate": {file: "internal/plan/inplace.go", text: "v1alpha1.ResizeRecreate"},
	},
	"VmGroup disks.data.provisioning": {
		"Thin": {file: "internal/vsphere/govmomi/datadisks.go", text: "vsphere.Thin:"}, "Thick": {file: "internal/vsphere/govmomi/datadisks.go", text: "vsphere.Thick:"},
		"EagerlyZeroed": {file: "internal/vsphere/govmomi/datadisks.go", text: "vsphere.EagerlyZeroed:"},
	},
	"VmGroup scaleDown.order": {"Oldest": {file: "internal/plan/settings.go", text: "v1alpha1.ScaleDownOldest"}},
	"VmGroup readiness.gate": {
		"GuestHeartbeat": {file: "internal/plan/readiness.go", text: "v1alpha1.GateGuestHeartbeat"}, "GuestIP": {file: "internal/plan/readiness.go", text: "v1alpha1.GateGuestIP"},
	},
	"VmGroup guest.hostname": {"Name": {file: "internal/controller/vmgroup/effect/clone.go", text: "v1alpha1.GuestHostnameName"}},
	"VmGroup repair.mode":    {"Observe": {file: "internal/plan/settings.go", text: "v1alpha1.RepairObserve"}},
	"VmGroup deletionProtection": {
		"Enabled":  {file: "internal/admission/objects/deletion.go", text: "!= 'Enabled'"},
		"Disabled": {unset: "Disabled, the default"},
	},
	"VmGroup deletionPolicy": {"Retain": {file: "internal/plan/deletion.go", text: "v1alpha1.DeletionRetain"}},
	"VmGroup shutdown.mode":  {"Hard": {file: "internal/plan/settings.go", text: "v1alpha1.ShutdownHard"}},
	"VCenter vcenterUserNames": {
		"Allow": {file: "internal/witness/witness.go", text: "v1alpha1.VCenterUserNamesAllow"},
		"Deny":  {unset: "With Deny, the default"},
	},
	"VCenter inventory.mode":                {"Poll": {file: "internal/controller/vcenter/config.go", text: "v1alpha1.InventoryPoll"}},
	"MemberCluster credentials.renewal":     {"ServiceAccountToken": {file: "internal/controller/member/credentials.go", text: "v1alpha1.RenewalServiceAccountToken"}},
	"MemberCluster userDataSecrets":         {"Allow": {file: "internal/observe/gather.go", text: "v1alpha1.UserDataAllow"}},
	"MemberCluster admission.failurePolicy": {"Fail": {file: "internal/admission/objects/webhooks.go", text: "v1alpha1.AdmissionFail"}},
	"MemberCluster manage":                  {"None": {file: "internal/controller/member/admission/keep.go", text: "v1alpha1.ManageNone"}},
	"VmGroupPolicy quota.scope":             {"Match": {file: "internal/policy/quota.go", text: "v1alpha1.QuotaMatch"}},
	"VmGroupPolicy quota.retain":            {"Allow": {file: "internal/policy/quota.go", text: "v1alpha1.RetainAllow"}},
	"VmGroupPolicy mode":                    {"Warn": {file: "internal/policy/compile.go", text: "v1alpha1.PolicyWarn"}},
	"VmGroupLimits policies.selector.operator": {
		"In": {file: "internal/admission/objects/expressions.go", text: "r.operator == 'In'"}, "NotIn": {file: "internal/admission/objects/expressions.go", text: "r.operator == 'NotIn'"},
		"Exists":       {file: "internal/admission/objects/expressions.go", text: "r.operator == 'Exists'"},
		"DoesNotExist": {file: "internal/admission/objects/expressions.go", text: "!(r.key in variables.labels)"},
	},
}

func TestEveryValueOfASpecHasAnEffect(t *testing.T) {
	seen := map[string]bool{}
	for _, definition := range crd.Hub() {
		leaves("", specSchema(definition), func(path string, schema apiextensionsv1.JSONSchemaProps) {
			field := definition.Spec.Names.Kind + " " + path
			for _, raw := range schema.Enum {
				var value string
				if err := json.Unmarshal(raw.Raw, &value); err != nil {
					t.Fatalf("%s: %v", field, err)
				}
				seen[field+" "+value] = true
				row, known := valueEffects[field][value]
				isDefault := schema.Default != nil && string(schema.Default.Raw) == string(raw.Raw)
				switch {
				case isDefault && known:
					t.Errorf("%s: %s is the default, and needs no row", field, value)
				case isDefault:
				case !known:
					t.Errorf("%s: %s has no row: add where it makes a difference, or remove the value from the API until it does", field, value)
				default:
					checkAct(t, field, value, schema.Description, row)
				}
			}
		})
	}
	for field, values := range valueEffects {
		for value := range values {
			if !seen[field+" "+value] {
				t.Errorf("%s has no value %s any more: remove its row", field, value)
			}
		}
	}
}

func checkAct(t *testing.T, field, value, description string, row act) {
	t.Helper()
	if row.unset != "" {
		if !strings.Contains(description, row.unset) {
			t.Errorf("%s: the description does not say %q", field, row.unset)
		}
		return
	}
	code, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(row.file)))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(code), row.text) {
		t.Errorf("%s: %s does not contain %q any more; enter the place where %s makes a difference now", field, row.file, row.text, value)
	}
	if !strings.Contains(row.text, value) && value != "DoesNotExist" { // what remains of four
		t.Errorf("%s: %q does not name %s", field, row.text, value)
	}
}
