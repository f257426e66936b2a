// Package policytest has the table of what policies allow and refuse, as data: every layer that judges VmGroups is
// run through the same one and has to come to the same answers.
package policytest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

//go:embed table.yaml
var table []byte

// Verdict is the answer to a request.
type Verdict string

// Findings.
const (
	// Same is that of the webhook.
	Same    Verdict = "same"
	Allowed Verdict = "allowed"
	Refused Verdict = "refused"
)

// Case is one request, and what becomes of it.
type Case struct {
	Name string `json:"name"`
	// Policies by name, as they are on the hub.
	Policies map[string]v1alpha1.VmGroupPolicySpec `json:"policies,omitempty"`
	// Member, Namespace and Group are team-a, dev and web if left out.
	Member          string            `json:"member,omitempty"`
	Namespace       string            `json:"namespace,omitempty"`
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	Group           string            `json:"group,omitempty"`
	// Old is the spec before, which the schema accepts; nil when the group is created. An empty one that is not nil is
	// an object that exists without a spec. It may break policies: it is older than they are.
	Old map[string]any `json:"old,omitempty"`
	// Spec as the user wrote it: fields may be missing. Nil is an object without a spec.
	Spec map[string]any `json:"spec,omitempty"`
	// Scale, if set, is an update of the subresource scale of Old to this number of replicas, in place of Spec.
	Scale *int32 `json:"scale,omitempty"`
	// Deleting is an update of an object that has a deletionTimestamp.
	Deleting bool `json:"deleting,omitempty"`
	// TemplatePath is the inventory path of the template, empty when it is not known.
	TemplatePath string `json:"templatePath,omitempty"`
	// TemplateMissing is an inventory that was read in full and has no such template.
	TemplateMissing bool `json:"templateMissing,omitempty"`
	// Others are further groups that exist.
	Others []Group `json:"others,omitempty"`

	// Filled are fields that defaulting sets, with their values.
	Filled map[string]any `json:"filled,omitempty"`
	// Refused are all messages of a refusal, in order; none when the request is accepted.
	Refused []string `json:"refused,omitempty"`
	// Warnings of policies, in order, also beside a refusal. A layer that knows more may add others after them.
	Warnings []string `json:"warnings,omitempty"`
	// HubDown is the verdict of the admission policies alone; see [Case.WithoutHub].
	HubDown Verdict `json:"hubDown,omitempty"`
	// HubDownMessage is the message of their refusal, where it is not the first of Refused.
	HubDownMessage string `json:"hubDownMessage,omitempty"`
}

// Group is another group; Member is that of the case if left out. Its namespace has no labels.
type Group struct {
	Member    string                `json:"member,omitempty"`
	Namespace string                `json:"namespace"`
	Name      string                `json:"name"`
	Spec      *v1alpha1.VmGroupSpec `json:"spec,omitempty"`
}

// Load returns the table.
func Load() ([]Case, error) {
	var rows []json.RawMessage
	if err := yaml.UnmarshalStrict(table, &rows); err != nil {
		return nil, fmt.Errorf("parse the table of policies: %w", err)
	}
	cases := make([]Case, len(rows))
	seen := map[string]bool{}
	for i, row := range rows {
		c := &cases[i]
		decoder := json.NewDecoder(bytes.NewReader(row))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(c); err != nil {
			return nil, fmt.Errorf("case %d of the table of policies: %s: %w", i+1, row, err)
		}
		if err := c.complete(); err != nil {
			return nil, fmt.Errorf("case %d of the table of policies, %q: %w", i+1, c.Name, err)
		}
		if seen[c.Name] {
			return nil, fmt.Errorf("two cases of the table of policies are named %q", c.Name)
		}
		seen[c.Name] = true
	}
	return cases, nil
}

func (c *Case) complete() error {
	setDefault(&c.Member, "team-a")
	setDefault(&c.Namespace, "dev")
	setDefault(&c.Group, "web")
	setDefault(&c.HubDown, Same)
	for i := range c.Others {
		setDefault(&c.Others[i].Member, c.Member)
	}
	switch {
	case c.Name == "":
		return errors.New("it has no name")
	case c.Scale != nil && (c.Spec != nil || c.Old == nil):
		return errors.New("scale wants old and no spec")
	case c.Deleting && (c.Old == nil || len(c.Refused) > 0):
		return errors.New("deleting wants old, and refuses nothing")
	case c.HubDown != Same && c.HubDown != Allowed && c.HubDown != Refused:
		return fmt.Errorf("hubDown is %q", c.HubDown)
	case c.HubDown == Refused && c.HubDownMessage == "":
		return errors.New("hubDown refused wants hubDownMessage")
	}
	for _, spec := range []map[string]any{c.Old, c.Spec} {
		if _, err := typed(spec); err != nil {
			return err
		}
	}
	return nil
}

func setDefault[S ~string](s *S, value S) {
	if *s == "" {
		*s = value
	}
}

// Set returns the policies of the case.
func (c Case) Set() *policy.Set { return policy.Compile(c.PolicyList()) }

// PolicyList returns the policies as objects, by name.
func (c Case) PolicyList() []v1alpha1.VmGroupPolicy {
	out := make([]v1alpha1.VmGroupPolicy, 0, len(c.Policies))
	for _, name := range slices.Sorted(maps.Keys(c.Policies)) {
		spec := c.Policies[name]
		out = append(out, v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *spec.DeepCopy()})
	}
	return out
}

// Requester returns who asks.
func (c Case) Requester() policy.Requester {
	return policy.Requester{Member: c.Member, Namespace: c.Namespace, NamespaceLabels: c.NamespaceLabels}
}

// OldSpec returns the spec before, nil when the group is created.
func (c Case) OldSpec() *v1alpha1.VmGroupSpec {
	if c.Old == nil {
		return nil
	}
	if len(c.Old) == 0 {
		return &v1alpha1.VmGroupSpec{} // no spec, and not an empty one
	}
	return mustTyped(c.Old)
}

// NewSpec returns what the user wants, with the replicas that the API server fills in, and before any defaulting by
// policy. Of a scale it is the old spec with the new number.
func (c Case) NewSpec() *v1alpha1.VmGroupSpec {
	if c.Scale != nil {
		spec := c.OldSpec()
		spec.Replicas = c.Scale
		return spec
	}
	return mustTyped(c.Spec)
}

// UsedByOthers returns what other groups take of a policy's quota.
func (c Case) UsedByOthers(p *policy.Policy) policy.Usage {
	var used policy.Usage
	for _, other := range c.Others {
		r := policy.Requester{Member: other.Member, Namespace: other.Namespace}
		if other.Member == c.Member && other.Namespace == c.Namespace {
			r.NamespaceLabels = c.NamespaceLabels
		}
		if !p.Matches(r) || p.QuotaScope(r) != p.QuotaScope(c.Requester()) {
			continue
		}
		var spec v1alpha1.VmGroupSpec
		if other.Spec != nil {
			spec = *other.Spec
		}
		used = used.Add(policy.UsageOf(spec))
	}
	return used
}

// WithoutHub returns what the admission policies alone make of the request, and the message of a refusal; it is empty
// when the schema refuses, in its own words. defaulting says whether the member's API server serves mutating admission
// policies: without them nothing fills in what the user left out.
func (c Case) WithoutHub(defaulting bool) (Verdict, string) {
	if !defaulting {
		for _, field := range []string{"spec.cpu", "spec.memory", "spec.template"} {
			if _, needed := c.Filled[field]; needed {
				return Refused, ""
			}
		}
		// The VCenter of a group cannot be taken away from it.
		if _, needed := c.Filled["spec.vcenter"]; needed && c.Old["vcenter"] != nil {
			return Refused, ""
		}
	}
	switch {
	case c.HubDown == Allowed, c.HubDown == Same && len(c.Refused) == 0:
		return Allowed, ""
	case c.HubDownMessage != "":
		return Refused, c.HubDownMessage
	default:
		return Refused, c.Refused[0]
	}
}

func mustTyped(spec map[string]any) *v1alpha1.VmGroupSpec {
	out, err := typed(spec)
	if err != nil {
		panic(err) // Load has tried it
	}
	return out
}

// typed converts a spec and adds the schema's default, which the API server does wherever there is a spec.
func typed(spec map[string]any) (*v1alpha1.VmGroupSpec, error) {
	out := &v1alpha1.VmGroupSpec{}
	if spec == nil {
		return out, nil
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode a spec: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(out); err != nil {
		return nil, fmt.Errorf("decode spec %s: %w", data, err)
	}
	if out.Replicas == nil {
		out.Replicas = new(int32(1))
	}
	return out, nil
}
