package webhook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// effect is where a field of a spec takes effect: the code that reads it.
type effect struct {
	// file reads the field, with the text; the text names the field, or the one that it is part of.
	file, text string
	// unused is the reason why no code reads a field of a type that several fields share. Only fields that the operator writes
	// itself can be unused.
	unused string
}

// fieldEffects of all fields of all kinds, by kind and path. A field that is added to the API needs a row, which shows where the field is
// read.
var fieldEffects = map[string]map[string]effect{
	"VmGroup": {
		"cpu":                               {file: "internal/controller/vmgroup/effect/clone.go", text: "of.Spec.CPU"},
		"coresPerSocket":                    {file: "internal/controller/vmgroup/effect/clone.go", text: "of.Spec.CoresPerSocket"},
		"disks.data.name":                   {file: "internal/plan/datadisks.go", text: "d.Name"},
		"disks.data.sizeGiB":                {file: "internal/plan/datadisks.go", text: "d.SizeGiB"},
		"disks.data.provisioning":           {file: "internal/plan/datadisks.go", text: "d.Provisioning"},
		"disks.root.sizeGiB":                {file: "internal/controller/vmgroup/effect/clone.go", text: "of.Spec.Shape().RootDiskGiB()"},
		"memory":                            {file: "internal/controller/vmgroup/effect/clone.go", text: "of.Spec.Memory"},
		"template":                          {file: "internal/observe/resolve.go", text: "spec.Template"},
		"replicas":                          {file: "internal/plan/settings.go", text: "*spec.Replicas"},
		"vcenter":                           {file: "internal/group/vcenter.go", text: "Spec.VCenter"},
		"placement.resourcePool":            {file: "internal/observe/resolve.go", text: "want.ResourcePool"},
		"placement.datastore":               {file: "internal/observe/resolve.go", text: "want.Datastore"},
		"placement.network":                 {file: "internal/observe/resolve.go", text: "want.Network"},
		"cloneMode":                         {file: "internal/observe/resolve.go", text: "spec.CloneMode"},
		"powerState":                        {file: "internal/plan/settings.go", text: "spec.PowerState"},
		"updateStrategy.type":               {file: "internal/plan/budget.go", text: "spec.Type == v1alpha1.UpdateOnDelete"},
		"updateStrategy.maxSurge":           {file: "internal/plan/budget.go", text: "spec.MaxSurge"},
		"updateStrategy.maxUnavailable":     {file: "internal/plan/budget.go", text: "spec.MaxUnavailable"},
		"updateStrategy.resize":             {file: "internal/plan/budget.go", text: "spec.Resize"},
		"updateStrategy.paused":             {file: "internal/plan/budget.go", text: "spec.Paused"},
		"updateStrategy.maxFailures":        {file: "internal/plan/budget.go", text: "spec.MaxFailures"},
		"updateStrategy.replaceTrigger":     {file: "internal/plan/revision.go", text: "s.ReplaceTrigger"},
		"scaleDown.order":                   {file: "internal/plan/settings.go", text: "d.Order"},
		"scaleDown.deleteFirst":             {file: "internal/plan/settings.go", text: "d.DeleteFirst"},
		"readiness.gate":                    {file: "internal/plan/settings.go", text: "r.Gate"},
		"readiness.minReadySeconds":         {file: "internal/plan/settings.go", text: "r.MinReadySeconds"},
		"readiness.progressDeadlineSeconds": {file: "internal/group/status.go", text: "spec.Readiness.ProgressDeadlineSeconds"},
		"readiness.startupTimeoutSeconds":   {file: "internal/plan/settings.go", text: "r.StartupTimeoutSeconds"},
		"readiness.guestInfo.key":           {file: "internal/group/readiness.go", text: "spec.Readiness.GuestInfo.Key"},
		"readiness.guestInfo.value":         {file: "internal/plan/readiness.go", text: "g.Value"},
		"readiness.guestInfo.failedValue":   {file: "internal/plan/startup.go", text: "g.FailedValue"},
		"guest.hostname":                    {file: "internal/controller/vmgroup/effect/clone.go", text: "spec.Guest.Hostname"},
		"guest.metadata":                    {file: "internal/controller/vmgroup/effect/clone.go", text: "spec.Guest.Metadata"},
		"repair.mode":                       {file: "internal/plan/settings.go", text: "r.Mode"},
		"repair.maxUnhealthy":               {file: "internal/plan/settings.go", text: "r.MaxUnhealthy"},
		"deletionProtection":                {file: "internal/admission/objects/deletion.go", text: "oldObject.?spec.?deletionProtection"},
		"deletionPolicy":                    {file: "internal/plan/settings.go", text: "spec.DeletionPolicy"},
		"shutdown.mode":                     {file: "internal/plan/settings.go", text: "d.Mode"},
		"shutdown.timeoutSeconds":           {file: "internal/plan/settings.go", text: "d.TimeoutSeconds"},
		"userDataSecretRef.name":            {file: "internal/group/shapes.go", text: "shape.Spec.UserDataSecretRef"},
		"paused":                            {file: "internal/group/paused.go", text: "Spec.Paused"},
	},
	"VCenter": {
		"server":                      {file: "internal/controller/vcenter/config.go", text: "vc.Spec.Server"},
		"credentialsSecretRef.name":   {file: "internal/controller/vcenter/controller.go", text: "vc.Spec.CredentialsSecretRef.Name"},
		"tls.caBundle":                {file: "internal/controller/vcenter/config.go", text: "tls.CABundle"},
		"tls.thumbprint":              {file: "internal/controller/vcenter/config.go", text: "tls.Thumbprint"},
		"tls.insecureSkipVerify":      {file: "internal/controller/vcenter/config.go", text: "tls.InsecureSkipVerify"},
		"datacenter":                  {file: "internal/controller/vcenter/config.go", text: "vc.Spec.Datacenter"},
		"folder":                      {file: "internal/controller/vcenter/config.go", text: "vc.Spec.Folder"},
		"resourcePool":                {file: "internal/controller/vcenter/config.go", text: "vc.Spec.ResourcePool"},
		"datastore":                   {file: "internal/controller/vcenter/config.go", text: "vc.Spec.Datastore"},
		"network":                     {file: "internal/controller/vcenter/config.go", text: "vc.Spec.Network"},
		"templates.folders":           {file: "internal/controller/vcenter/config.go", text: "vc.Spec.Templates.Folders"},
		"grants.memberClusters":       {file: "internal/policy/grants.go", text: "grant.MemberClusters"},
		"grants.namespaceSelector":    {file: "internal/policy/grants.go", text: "grant.NamespaceSelector"},
		"grants.templates":            {file: "internal/policy/grants.go", text: "grant.Templates"},
		"grants.resourcePools":        {file: "internal/policy/grants.go", text: "grant.ResourcePools"},
		"grants.datastores":           {file: "internal/policy/grants.go", text: "grant.Datastores"},
		"grants.networks":             {file: "internal/policy/grants.go", text: "grant.Networks"},
		"limits.tasks":                {file: "internal/controller/vcenter/config.go", text: "vc.Spec.Limits.Tasks"},
		"limits.tasksPerHost":         {file: "internal/controller/vcenter/config.go", text: "vc.Spec.Limits.TasksPerHost"},
		"legacyFolders.folder":        {file: "internal/controller/vmgroup/effect/legacyfolders.go", text: "g.Folder"},
		"legacyFolders.memberCluster": {file: "internal/controller/vmgroup/effect/legacyfolders.go", text: "g.MemberCluster"},
		"legacyFolders.namespace":     {file: "internal/controller/vmgroup/effect/legacyfolders.go", text: "g.Namespace"},
		"legacyFolders.group":         {file: "internal/controller/vmgroup/effect/legacyfolders.go", text: "g.Group"},
		"vcenterUserNames":            {file: "internal/witness/witness.go", text: "vc.Spec.VCenterUserNames"},
		"inventory.mode":              {file: "internal/controller/vcenter/config.go", text: "vc.Spec.Inventory.Mode"},
		"inventory.pollSeconds":       {file: "internal/controller/vcenter/config.go", text: "vc.Spec.Inventory.PollSeconds"},
	},
	"MemberCluster": {
		"kubeconfigSecretRef.name":          {file: "internal/controller/member/credentials.go", text: "r.kubeconfig(ctx, mc, credential.Member, mc.Spec.KubeconfigSecretRef)"},
		"kubeconfigSecretRef.key":           {file: "internal/controller/member/credentials.go", text: "ref.Key"},
		"credentials.renewal":               {file: "internal/controller/member/credentials.go", text: "v1alpha1.RenewalServiceAccountToken"},
		"credentials.tokenLifetimeSeconds":  {file: "internal/controller/member/credentials.go", text: "c.TokenLifetimeSeconds"},
		"bootstrapKubeconfigSecretRef.name": {file: "internal/controller/member/credentials.go", text: "mc.Spec.BootstrapKubeconfigSecretRef"},
		"bootstrapKubeconfigSecretRef.key":  {file: "internal/controller/member/credentials.go", text: "ref.Key"},
		"clusterUID":                        {file: "internal/controller/member/join/pins.go", text: "mc.Spec.ClusterUID"},
		"paused":                            {file: "internal/controller/member/credentials.go", text: "mc.Spec.Paused"},
		"userDataSecrets":                   {file: "internal/controller/member/credentials.go", text: "mc.Spec.UserDataSecrets"},
		"admission.url":                     {file: "internal/controller/member/credentials.go", text: "spec.Admission.URL"},
		"admission.failurePolicy":           {file: "internal/controller/member/credentials.go", text: "spec.Admission.FailurePolicy"},
		"manage":                            {file: "internal/controller/member/credentials.go", text: "mc.Spec.Manage"},
		"massDeletion.maxVMs":               {file: "internal/controller/member/credentials.go", text: "massdeletion.LimitOf(m.MaxVMs)"},
	},
	"VmGroupPolicy": {
		"priority":                {file: "internal/policy/compile.go", text: "spec.Priority"},
		"match.memberClusters":    {file: "internal/policy/compile.go", text: "spec.Match.MemberClusters"},
		"match.namespaceSelector": {file: "internal/policy/compile.go", text: "spec.Match.NamespaceSelector"},
		"match.exclude":           {file: "internal/policy/compile.go", text: "spec.Match.Exclude"},
		"limits.cpu.min":          {file: "internal/policy/compile.go", text: "countRange(l.CPU)"},
		"limits.cpu.max":          {file: "internal/policy/compile.go", text: "countRange(l.CPU)"},
		"limits.memory.min":       {file: "internal/policy/compile.go", text: `amountRange("memory", l.Memory)`},
		"limits.memory.max":       {file: "internal/policy/compile.go", text: `amountRange("memory", l.Memory)`},
		"limits.disk.min":         {file: "internal/policy/compile.go", text: `amountRange("disk", l.Disk)`},
		"limits.disk.max":         {file: "internal/policy/compile.go", text: `amountRange("disk", l.Disk)`},
		"limits.replicas.min":     {file: "internal/policy/compile.go", text: "countRange(l.Replicas)"},
		"limits.replicas.max":     {file: "internal/policy/compile.go", text: "countRange(l.Replicas)"},
		"templates.allow":         {file: "internal/policy/compile.go", text: "namePatternsOf(t.Allow)"},
		"templates.deny":          {file: "internal/policy/compile.go", text: "namePatternsOf(t.Deny)"},
		"templates.mustExist":     {file: "internal/policy/compile.go", text: "t.MustExist"},
		"defaults.cpu":            {file: "internal/policy/defaults.go", text: "p.defaults.CPU"},
		"defaults.memory":         {file: "internal/policy/defaults.go", text: "p.defaults.Memory"},
		"defaults.template":       {file: "internal/policy/defaults.go", text: "p.defaults.Template"},
		"defaults.vcenter":        {file: "internal/policy/defaults.go", text: "p.defaults.VCenter"},
		"defaults.disk":           {file: "internal/policy/defaults.go", text: "p.defaults.Disk"},
		"quota.groups":            {file: "internal/policy/quota.go", text: "widen(spec.Groups)"},
		"quota.vms":               {file: "internal/policy/quota.go", text: "widen(spec.VMs)"},
		"quota.cpu":               {file: "internal/policy/quota.go", text: "cpu: spec.CPU"},
		"quota.memory":            {file: "internal/policy/quota.go", text: `{"memory", spec.Memory, &q.memory}`},
		"quota.storage":           {file: "internal/policy/quota.go", text: `{"storage", spec.Storage, &q.storage}`},
		"quota.scope":             {file: "internal/policy/quota.go", text: "spec.Scope"},
		"quota.retain":            {file: "internal/policy/quota.go", text: "spec.Retain"},
		"mode":                    {file: "internal/policy/compile.go", text: "spec.Mode"},
	},
	// The operator writes these, and expressions of admission policies read them.
	"VmGroupLimits": {
		"member":                              {file: "api/v1alpha1/vmgrouplimits_types.go", text: "JSONPath=`.spec.member`"},
		"summary":                             {file: "api/v1alpha1/vmgrouplimits_types.go", text: "JSONPath=`.spec.summary`"},
		"unmatched.cpu.min":                   {file: "internal/admission/objects/limits_policy.go", text: "params.spec.unmatched"},
		"unmatched.cpu.max":                   {file: "internal/admission/objects/limits_policy.go", text: "params.spec.unmatched"},
		"unmatched.memory.min":                {file: "internal/admission/objects/limits_policy.go", text: "params.spec.unmatched"},
		"unmatched.memory.max":                {file: "internal/admission/objects/limits_policy.go", text: "params.spec.unmatched"},
		"unmatched.disk.min":                  {file: "internal/admission/objects/limits_policy.go", text: "params.spec.unmatched"},
		"unmatched.disk.max":                  {file: "internal/admission/objects/limits_policy.go", text: "params.spec.unmatched"},
		"unmatched.replicas.min":              {file: "internal/admission/objects/limits_policy.go", text: "params.spec.unmatched"},
		"unmatched.replicas.max":              {file: "internal/admission/objects/limits_policy.go", text: "params.spec.unmatched"},
		"policies.name":                       {file: "internal/admission/objects/limits_policy.go", text: "has(p.name)"},
		"policies.enforced":                   {file: "internal/admission/objects/limits_policy.go", text: "p.enforced"},
		"policies.refusal":                    {file: "internal/admission/objects/limits_policy.go", text: "p.refusal"},
		"policies.exclude.pattern":            {file: "internal/admission/objects/expressions.go", text: "p.exclude.exists(e, "},
		"policies.exclude.expression":         {file: "internal/admission/objects/expressions.go", text: "p.exclude.exists(e, "},
		"policies.exclude.path":               {unused: "namespaces have no path"},
		"policies.selector.key":               {file: "internal/admission/objects/expressions.go", text: "r.key in variables.labels"},
		"policies.selector.operator":          {file: "internal/admission/objects/expressions.go", text: "r.operator == 'NotIn'"},
		"policies.selector.values":            {file: "internal/admission/objects/expressions.go", text: "in r.values"},
		"policies.cpu.min":                    {file: "internal/admission/objects/limits_policy.go", text: `bounds("cpu"`},
		"policies.cpu.max":                    {file: "internal/admission/objects/limits_policy.go", text: `bounds("cpu"`},
		"policies.memory.min":                 {file: "internal/admission/objects/limits_policy.go", text: `bounds("memory"`},
		"policies.memory.max":                 {file: "internal/admission/objects/limits_policy.go", text: `bounds("memory"`},
		"policies.disk.min":                   {file: "internal/admission/objects/limits_policy.go", text: `bounds("disk"`},
		"policies.disk.max":                   {file: "internal/admission/objects/limits_policy.go", text: `bounds("disk"`},
		"policies.diskRequired":               {file: "internal/admission/objects/limits_policy.go", text: "p.diskRequired"},
		"policies.replicas.min":               {file: "internal/admission/objects/limits_policy.go", text: `bounds("replicas"`},
		"policies.replicas.max":               {file: "internal/admission/objects/limits_policy.go", text: `bounds("replicas"`},
		"policies.templates.allow.pattern":    {file: "internal/admission/objects/limits_policy.go", text: "p.templates.allow.exists(a, "},
		"policies.templates.allow.expression": {file: "internal/admission/objects/limits_policy.go", text: "p.templates.allow.exists(a, "},
		"policies.templates.allow.path":       {file: "internal/admission/objects/limits_policy.go", text: "has(a.path)"},
		"policies.templates.allowList":        {file: "internal/admission/objects/limits_policy.go", text: "p.templates.allowList"},
		"policies.templates.deny.pattern":     {file: "internal/admission/objects/limits_policy.go", text: "p.templates.deny.exists(d, "},
		"policies.templates.deny.expression":  {file: "internal/admission/objects/limits_policy.go", text: "p.templates.deny.exists(d, "},
		"policies.templates.deny.path":        {unused: "a denied path denies nothing here: only the hub knows paths"},
		"policies.defaults.cpu":               {file: "internal/admission/objects/defaults_policy.go", text: `filled("cpu"`},
		"policies.defaults.memory":            {file: "internal/admission/objects/defaults_policy.go", text: `filled("memory"`},
		"policies.defaults.template":          {file: "internal/admission/objects/defaults_policy.go", text: `filled("template"`},
		"policies.defaults.vcenter":           {file: "internal/admission/objects/defaults_policy.go", text: "filter(d, has(d.vcenter))[0].vcenter"},
		"policies.defaults.disk":              {file: "internal/admission/objects/defaults_policy.go", text: "filter(d, has(d.disk))[0].disk"},
	},
}

// leaves calls see with each field below a schema that has no fields of its own. A label selector is read as a whole.
func leaves(path string, schema apiextensionsv1.JSONSchemaProps, see func(path string, schema apiextensionsv1.JSONSchemaProps)) {
	if schema.Items != nil && schema.Items.Schema != nil && len(schema.Items.Schema.Properties) > 0 {
		schema = *schema.Items.Schema
	}
	if _, selector := schema.Properties["matchLabels"]; selector || len(schema.Properties) == 0 {
		see(path, schema)
		return
	}
	for name, property := range schema.Properties {
		leaves(strings.TrimPrefix(path+"."+name, "."), property, see)
	}
}

func specSchema(definition *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.JSONSchemaProps {
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

func TestEveryFieldOfASpecHasAnEffect(t *testing.T) {
	kinds := crd.Hub()
	if len(kinds) != len(fieldEffects) {
		t.Errorf("there are %d kinds, and rows for %d", len(kinds), len(fieldEffects))
	}
	for _, definition := range kinds {
		kind := definition.Spec.Names.Kind
		seen := map[string]bool{}
		leaves("", specSchema(definition), func(path string, _ apiextensionsv1.JSONSchemaProps) {
			seen[path] = true
			row, known := fieldEffects[kind][path]
			switch {
			case !known:
				t.Errorf("%s spec.%s has no row: add where the field is read, or remove the field from the API until something reads it", kind, path)
			case row.unused == "":
				checkReader(t, kind, path, row)
			case kind != "VmGroupLimits":
				t.Errorf("%s spec.%s: people write it, so it must not be unused", kind, path)
			}
		})
		for path := range fieldEffects[kind] {
			if !seen[path] {
				t.Errorf("%s has no field spec.%s any more: remove its row", kind, path)
			}
		}
	}
}

// checkReader checks that the row still leads to code that names the field, or the one that it is part of.
func checkReader(t *testing.T, kind, path string, row effect) {
	t.Helper()
	code, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(row.file)))
	if err != nil {
		t.Errorf("%s spec.%s: %v", kind, path, err)
		return
	}
	if !strings.Contains(string(code), row.text) {
		t.Errorf("%s spec.%s: %s does not contain %q any more; enter the place that reads the field now", kind, path, row.file, row.text)
	}
	names := strings.Split(strings.ToLower(path), ".")
	if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(row.text), name) }) {
		t.Errorf("%s spec.%s: %q does not name the field", kind, path, row.text)
	}
}
