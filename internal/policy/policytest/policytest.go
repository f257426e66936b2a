// Package policytest has the table of policy results, as data: every layer that checks VmGroups runs against the same table and must give the same
// results.
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

// Verdict is the result of a request.
type Verdict string

// Verdicts.
const (
	// Same is the verdict of the webhook.
	Same    Verdict = "same"
	Allowed Verdict = "allowed"
	Refused Verdict = "refused"
)

// Case is one request with its expected result.
type Case struct {
	Name string `json:"name"`
	// Policies on the hub, by name.
	Policies map[string]v1alpha1.VmGroupPolicySpec `json:"policies,omitempty"`
	// Member, Namespace and Group default to team-a, dev and web.
	Member          string            `json:"member,omitempty"`
	Namespace       string            `json:"namespace,omitempty"`
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	Group           string            `json:"group,omitempty"`
	// Old is the previous spec, which the schema accepts; nil if the group is created. An empty one that is not nil is an existing object without a
	// spec. Old can break policies, because it is older than they are.
	Old map[string]any `json:"old,omitempty"`
	// Spec as the user wrote it: fields can be missing. Nil is an object without a spec.
	Spec map[string]any `json:"spec,omitempty"`
	// Scale, if set, is an update of the scale subresource of Old to this number of replicas, in place of Spec.
	Scale *int32 `json:"scale,omitempty"`
	// Deleting marks an update of an object that has a deletionTimestamp.
	Deleting bool `json:"deleting,omitempty"`
	// TemplatePath is the inventory path of the template, empty if it is unknown.
	TemplatePath string `json:"templatePath,omitempty"`
	// TemplateMissing marks an inventory that was read in full and has no such template.
	TemplateMissing bool `json:"templateMissing,omitempty"`
	// Others are other existing groups.
	Others []Group `json:"others,omitempty"`

	// Filled are the fields that defaulting sets, with their values.
	Filled map[string]any `json:"filled,omitempty"`
	// Refused are all messages of a refusal, in order; empty if the request is accepted.
	Refused []string `json:"refused,omitempty"`
	// Warnings of policies, in order, also in addition to a refusal. A layer with more data can add others after them.
	Warnings []string `json:"warnings,omitempty"`
	// HubDown is the verdict of the admission policies alone; see [Case.WithoutHub].
	HubDown Verdict `json:"hubDown,omitempty"`
	// HubDownMessage is the message of their refusal, if it is not the first of Refused.
	HubDownMessage string `json:"hubDownMessage,omitempty"`
}

// Group is another group. Member defaults to that of the case. Its namespace has no labels.
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

// Requester returns the requester of the case.
func (c Case) Requester() policy.Requester {
	return policy.Requester{Member: c.Member, Namespace: c.Namespace, NamespaceLabels: c.NamespaceLabels}
}

// OldSpec returns the previous spec, nil if the group is created.
func (c Case) OldSpec() *v1alpha1.VmGroupSpec {
	if c.Old == nil {
		return nil
	}
	if len(c.Old) == 0 {
		return &v1alpha1.VmGroupSpec{} // no spec, as opposed to an empty one
	}
	return mustTyped(c.Old)
}

// NewSpec returns the spec of the user, with the default of replicas from the API server, and before any defaulting by policy. For a scale, it is the
// old spec with the new number.
func (c Case) NewSpec() *v1alpha1.VmGroupSpec {
	if c.Scale != nil {
		spec := c.OldSpec()
		spec.Replicas = c.Scale
		return spec
	}
	return mustTyped(c.Spec)
}

// UsedByOthers returns the usage of other groups in a policy's quota.
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

// WithoutHub returns the verdict of the admission policies alone, and the message of a refusal. The message is empty if the schema refuses with its
// own message. defaulting reports whether the member's API server serves mutating admission policies: without them, missing fields are not filled in.
func (c Case) WithoutHub(defaulting bool) (Verdict, string) {
	if !defaulting {
		for _, field := range []string{"spec.cpu", "spec.memory", "spec.template"} {
			if _, needed := c.Filled[field]; needed {
				return Refused, ""
			}
		}
		// The VCenter of a group cannot be removed.
		if _, needed := c.Filled["spec.vcenter"]; needed && c.Old["vcenter"] != nil {
			return Refused, ""
		}
		if _, sized := c.Filled["spec.disks.root.sizeGiB"]; sized { // the size can be left out, except under a quota of storage
			if refused, _ := policy.Split(c.Set().Evaluate(c.Requester(), *c.NewSpec(), "")); len(refused) > 0 {
				return Refused, refused[0].Error()
			}
			return Allowed, ""
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
		panic(err) // Load has checked it
	}
	return out
}

// typed converts a spec and adds the schema's default, as the API server does for every spec.
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

// Shrinks reports whether the schema refuses an update, because a disk would become smaller.
func Shrinks(old, spec v1alpha1.VmGroupSpec) bool {
	if size := spec.Shape().RootDiskGiB(); size > 0 && size < old.Shape().RootDiskGiB() {
		return true
	}
	return slices.ContainsFunc(spec.Shape().DataDisks(), func(now v1alpha1.DataDisk) bool {
		return slices.ContainsFunc(old.Shape().DataDisks(), func(was v1alpha1.DataDisk) bool { return was.Name == now.Name && was.SizeGiB > now.SizeGiB })
	})
}
