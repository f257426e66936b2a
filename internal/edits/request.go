package edits

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Group identifies a group of a member by its name.
type Group struct{ Member, Namespace, Name string }

// By is the origin of a request.
type By struct {
	Member string
	// User and Manager are as the API server sent them. Manager can be empty.
	User, Manager string
	At            time.Time
}

// Request is an admitted change of the spec of a group. The API server has possibly refused it since.
type Request struct {
	Group
	// UID of the group.
	UID types.UID
	// Edit is what status records if the change was stored.
	Edit v1alpha1.Edit

	at time.Time
	// expected is the spec after the change.
	expected spec
	// managers are the field managers of spec after the change. The last one that changed spec is among those of the stored group, too. Empty if
	// the request does not show them.
	managers []manager
	// base is the state that the change of a scale was made to, or nil.
	base *base
	// proof is a stored group from before the change, which can prove earlier requests.
	proof *Seen
}

// spec identifies a spec.
type spec struct {
	// rest is a hash of spec without its replicas.
	rest     [sha256.Size]byte
	replicas int32
}

// base is the group to which a change through the subresource scale was made. The request has no generation.
type base struct {
	// version is the resourceVersion of the group.
	version  string
	replicas int32
	// known is true while the last state up to version, whose generation and spec the request expects, has these replicas.
	known bool
}

// manager is an entry of managedFields.
type manager struct {
	name      string
	operation metav1.ManagedFieldsOperationType
	seconds   int64
}

// Seen is a stored state of a group.
type Seen struct {
	UID        types.UID
	Generation int64

	version string
	spec    spec
	// last are the managers that changed spec last: several within one second.
	last []manager
}

// SeenOf returns the state of a stored group. It does not keep the group.
func SeenOf(group *v1alpha1.VmGroup) Seen {
	s := Seen{UID: group.UID, Generation: group.Generation, version: strings.Clone(group.ResourceVersion), spec: specOf(group.Spec)}
	for _, m := range managersOf(group.ManagedFields) {
		if len(s.last) > 0 && m.seconds > s.last[0].seconds {
			s.last = nil
		}
		if len(s.last) == 0 || m.seconds == s.last[0].seconds {
			s.last = append(s.last, m)
		}
	}
	return s
}

func specOf(of v1alpha1.VmGroupSpec) spec {
	s := spec{replicas: -1}
	if of.Replicas != nil {
		s.replicas, of.Replicas = *of.Replicas, nil
	}
	text, err := json.Marshal(of)
	if err != nil {
		return spec{} // it came from JSON
	}
	s.rest = sha256.Sum256(text)
	return s
}

// managersOf returns the field managers of spec. The caches of members keep them without their fields.
func managersOf(entries []metav1.ManagedFieldsEntry) []manager {
	var all []manager
	for _, e := range entries {
		if e.Time == nil || e.FieldsV1 != nil && !strings.Contains(e.FieldsV1.GetRawString(), `"f:spec":`) {
			continue
		}
		all = append(all, manager{strings.Clone(e.Manager), e.Operation, e.Time.Unix()})
	}
	return all
}

// Create returns the request that created a group.
func Create(by By, group *v1alpha1.VmGroup) Request {
	r := newRequest(by, group, group.UID, 1)
	r.expected, r.managers = specOf(group.Spec), managersOf(group.ManagedFields)
	return r
}

// Update returns the request that changed old into group. It returns false if spec does not change.
func Update(by By, old, group *v1alpha1.VmGroup) (Request, bool) {
	r := newRequest(by, group, old.UID, old.Generation+1)
	r.expected, r.managers, r.proof = specOf(group.Spec), managersOf(group.ManagedFields), new(SeenOf(old))
	r.Edit.Fields = Changed(&old.Spec, &group.Spec)
	return r, len(r.Edit.Fields) > 0
}

// Scale is a change through the subresource scale.
type Scale struct {
	// UID and Version are those of the stored group.
	UID     types.UID
	Version string
	// From and To are its replicas before and after.
	From, To int32
}

// Scaled returns the request that scaled a group, of which known is the last known state. It returns false if replicas do not change, or nothing
// can prove later that they did.
func Scaled(by By, known *v1alpha1.VmGroup, scale Scale) (Request, bool) {
	seen := SeenOf(known)
	r := newRequest(by, known, scale.UID, seen.Generation+1)
	r.base, r.proof = &base{version: strings.Clone(scale.Version), replicas: scale.From}, &seen
	r.expected.replicas = scale.To
	r.Edit.Fields = []string{fmt.Sprintf("replicas %d→%d", scale.From, scale.To)}
	return r, scale.From != scale.To && seen.UID == scale.UID && r.onto(seen)
}

func newRequest(by By, of *v1alpha1.VmGroup, uid types.UID, generation int64) Request {
	return Request{
		Group: Group{strings.Clone(by.Member), strings.Clone(of.Namespace), strings.Clone(of.Name)}, UID: types.UID(strings.Clone(string(uid))), at: by.At,
		Edit: v1alpha1.Edit{
			Generation: generation, Time: metav1.NewTime(by.At.Truncate(time.Second)),
			User: strings.Clone(untrusted.Text(by.User, maxUser)), Manager: strings.Clone(untrusted.Text(by.Manager, maxManager)),
		},
	}
}

// The limits of the API, in characters; untrusted.Text limits bytes.
const maxUser, maxManager = 253, 128

// onto makes a scale expect to change this state, if the state is not newer than the one that it did change. It returns false if it is newer, or
// the versions cannot be compared.
func (r *Request) onto(s Seen) bool {
	order, err := resourceversion.CompareResourceVersion(s.version, r.base.version)
	if err != nil || order > 0 {
		return false
	}
	if s.Generation+1 >= r.Edit.Generation {
		r.Edit.Generation, r.expected.rest, r.base.known = s.Generation+1, s.spec.rest, s.spec.replicas == r.base.replicas
	}
	return true
}

// verdict is what a stored state proves about a request.
type verdict int

const (
	// open: the state is older than the change.
	open verdict = iota
	// stored: only this request can have made the state.
	stored
	// lost: another request made it, or it is too late to know.
	lost
)

// judge returns what a state of the group proves.
func (r *Request) judge(s Seen) verdict {
	switch {
	case s.UID != r.UID:
		return open // the cache is behind, or the group was deleted
	case r.base != nil && r.onto(s), s.Generation < r.Edit.Generation:
		return open
	case s.Generation > r.Edit.Generation, r.base != nil && !r.base.known, s.spec != r.expected:
		return lost
	case len(r.managers) > 0 && !r.managedBy(s.last):
		return lost // the same change, of another request
	}
	return stored
}

func (r *Request) managedBy(last []manager) bool {
	return !slices.ContainsFunc(last, func(m manager) bool { return !slices.Contains(r.managers, m) })
}

// sameOrigin reports whether two requests of a group have the same user and manager: API servers repeat a call after a conflict.
func (r *Request) sameOrigin(o *Request) bool {
	return r.Edit.User == o.Edit.User && r.Edit.Manager == o.Edit.Manager
}
